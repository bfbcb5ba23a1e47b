#include "cluster/hostnode/container_config.h"

#include "cluster/hostnode/pod_cgroups.h"
#include "cluster/hostnode/podspec/environment.h"

namespace koord::cluster {

namespace {

std::optional<std::uint32_t> idOf(const std::optional<std::int64_t>& own,
                                  const std::optional<std::int64_t>& pods) {
  const auto& id = own ? own : pods;
  if (!id) return std::nullopt;
  return static_cast<std::uint32_t>(*id);
}

ContainerUser userOf(const HostPod& pod, const spec::Container& container) {
  const auto own = container.securityContext.value_or(spec::SecurityContext{});
  const auto common = pod.details.securityContext.value_or(spec::PodSecurityContext{});
  ContainerUser user;
  user.user = idOf(own.runAsUser, common.runAsUser);
  user.group = idOf(own.runAsGroup, common.runAsGroup);
  for (const auto group : common.supplementalGroups)
    user.groups.push_back(static_cast<std::uint32_t>(group));
  if (common.fsGroup) user.groups.push_back(static_cast<std::uint32_t>(*common.fsGroup));
  user.privileged = own.privileged.value_or(false);
  user.noNewPrivileges = !own.allowPrivilegeEscalation.value_or(true);
  if (own.capabilities) {
    user.addCapabilities.assign(own.capabilities->add.begin(), own.capabilities->add.end());
    user.dropCapabilities.assign(own.capabilities->drop.begin(), own.capabilities->drop.end());
  }
  return user;
}

constexpr const char* kShell = "sh";

}  // namespace

bool isShell(const spec::Container& container) {
  return container.stdin_ && container.tty;
}

SandboxOptions sandboxOf(const HostPod& pod) {
  SandboxOptions options{pod.details.hostPID, pod.details.hostIPC,
                         pod.details.shareProcessNamespace};
  for (const auto* list : {&pod.details.initContainers, &pod.details.containers})
    for (const auto& container : *list)
      if (container.securityContext && container.securityContext->privileged.value_or(false))
        options.privileged = true;
  options.labels.insert(pod.metadata.labels.begin(), pod.metadata.labels.end());
  options.annotations.insert(pod.metadata.annotations.begin(), pod.metadata.annotations.end());
  return options;
}

ContainerConfig configOf(const HostPod& pod, const PodRef& reference,
                         const api::Container& container, ContainerInputs inputs) {
  const auto& details = pod.container(container.name);
  ContainerConfig config;
  config.pod = reference;
  config.name = container.name;
  config.attempt = inputs.attempt;
  config.image = container.image;
  config.command = expandVariables(container.command, inputs.environment);
  config.args = expandVariables(container.args, inputs.environment);
  config.env = std::move(inputs.environment);
  config.workingDir = container.workingDir;
  config.values = containerValues(container);
  config.sandbox = sandboxOf(pod);
  config.user = userOf(pod, details);
  config.mounts = std::move(inputs.mounts);
  config.readOnlyRoot =
      details.securityContext && details.securityContext->readOnlyRootFilesystem.value_or(false);
  config.openStdin = details.stdin_;
  config.stdinOnce = details.stdinOnce;
  config.terminal = details.tty;
  config.pidsOf = std::move(inputs.pidsOf);
  // Images have a command.
  if (!inputs.hasImage && config.command.empty() && config.args.empty() && isShell(details))
    config.command = {kShell};
  return config;
}

}  // namespace koord::cluster
