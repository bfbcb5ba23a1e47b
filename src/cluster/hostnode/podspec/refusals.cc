#include "cluster/hostnode/podspec/refusals.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>

namespace koord::cluster {

namespace {

bool isLocalhost(const std::optional<spec::SecurityProfile>& profile) {
  return profile && profile->type == "Localhost";
}

// A host port that differs from the container's port, which host networking does not support.
std::optional<std::string> forwardedPort(const HostPod& pod) {
  for (const auto* list : {&pod.spec.initContainers, &pod.spec.containers})
    for (const auto& container : *list)
      for (const auto& port : container.ports)
        if (port.hostPort != 0 && port.hostPort != port.containerPort)
          return fmt::format(
              "host port {} cannot be forwarded to port {} of container {}: pods of this node "
              "share its "
              "network, so both numbers must be equal",
              port.hostPort, port.containerPort, container.name);
  return std::nullopt;
}

std::optional<bool> mustNotBeRoot(const HostPod& pod, const spec::Container& container) {
  if (container.securityContext && container.securityContext->runAsNonRoot)
    return container.securityContext->runAsNonRoot;
  return pod.details.securityContext ? pod.details.securityContext->runAsNonRoot : std::nullopt;
}

std::optional<std::int64_t> userOf(const HostPod& pod, const spec::Container& container) {
  if (container.securityContext && container.securityContext->runAsUser)
    return container.securityContext->runAsUser;
  return pod.details.securityContext ? pod.details.securityContext->runAsUser : std::nullopt;
}

}  // namespace

std::optional<PodRefusal> podRefusal(const HostPod& pod) {
  const auto& details = pod.details;
  if (details.os && !details.os->name.empty() && details.os->name != "linux")
    return PodRefusal{"PodOSNotSupported",
                      "Failed to admit pod as the OS field doesn't match node OS"};
  if (details.securityContext && details.securityContext->sysctls.is_array() &&
      !details.securityContext->sysctls.get_array().empty())
    return PodRefusal{"SysctlForbidden",
                      "forbidden sysctl: pods of this node share its kernel parameters"};
  return std::nullopt;
}

std::optional<std::string> sandboxRefusal(const HostPod& pod) {
  const auto& details = pod.details;
  if (!pod.spec.runtimeClassName.empty())
    return fmt::format(
        "RuntimeClass \"{}\": this node has only one runtime; remove runtimeClassName",
        pod.spec.runtimeClassName.str());
  if (details.hostUsers && !*details.hostUsers)
    return "hostUsers: false: this node does not support user namespaces";
  if (!pod.spec.resourceClaims.empty())
    return "resourceClaims: this node has no drivers for dynamic resource allocation";
  const auto& context = details.securityContext;
  if (context && (isLocalhost(context->seccompProfile) || isLocalhost(context->appArmorProfile)))
    return "security profiles of type Localhost are not supported by this node";
  return forwardedPort(pod);
}

std::optional<std::string> containerRefusal(const HostPod& pod, const std::string& name,
                                            const RuntimeAbilities& runtime, bool imageRunsAsRoot) {
  const auto& container = pod.container(name);
  if (mustNotBeRoot(pod, container).value_or(false)) {
    const auto user = userOf(pod, container);
    if (user && *user == 0)
      return fmt::format(
          "container's runAsUser breaks non-root policy (pod: \"{}_{}({})\", container: {})",
          pod.metadata.name, pod.metadata.namespace_, pod.metadata.uid, name);
    if (!user && imageRunsAsRoot)
      return fmt::format(
          "container has runAsNonRoot and image will run as root (pod: \"{}_{}({})\", "
          "container: {})",
          pod.metadata.name, pod.metadata.namespace_, pod.metadata.uid, name);
  }
  const auto own = std::ranges::find(pod.spec.containers, name, &api::Container::name);
  if (!container.restartPolicyRules.is_null() ||
      (own != pod.spec.containers.end() && !own->restartPolicy.empty()))
    return "restartPolicy and restartPolicyRules of a container: this node supports only the pod's "
           "restartPolicy and sidecars";
  if (container.lifecycle && !container.lifecycle->stopSignal.empty() &&
      container.lifecycle->stopSignal != "SIGTERM")
    return fmt::format("lifecycle.stopSignal {}: this node stops containers with SIGTERM",
                       container.lifecycle->stopSignal);
  const auto& context = container.securityContext;
  if (!context) return std::nullopt;
  if (isLocalhost(context->seccompProfile) || isLocalhost(context->appArmorProfile))
    return "security profiles of type Localhost are not supported by this node";
  return std::nullopt;
}

}  // namespace koord::cluster
