#include <fmt/format.h>

#include <algorithm>

#include "base/base64.h"
#include "base/time.h"
#include "cluster/hostnode/container_config.h"
#include "cluster/hostnode/host_node.h"
#include "cluster/hostnode/host_node_parts.h"
#include "cluster/hostnode/images/pull_credentials.h"

namespace koord::cluster {

using namespace std::chrono_literals;

namespace {

constexpr Duration kFirstPullRetry = 10s;  // kubelet's back-off
constexpr Duration kLastPullRetry = 5min;
constexpr Duration kLookAgain = 10s;
constexpr Duration kUntilPulled = 24h;  // the end of the pull comes before
constexpr const char* kDockerConfig = ".dockerconfigjson";

Duration pullBackoff(int failures) {
  return std::min<Duration>(kFirstPullRetry * (1 << std::clamp(failures - 1, 0, 10)),
                            kLastPullRetry);
}

}  // namespace

// The process runtime pulls nothing. A container without a command cannot run; for another one an
// event says once what its image is worth.
std::optional<HostNode::StartFailure> HostNode::processFailure(const HostPod& pod,
                                                               const ContainerStart& start) {
  const auto& container = *start.container;
  if (!container.command.empty() || !container.args.empty() ||
      isShell(pod.container(container.name))) {
    if (start.attempt == 0)
      events_.record(containerOf(pod, container.name), "Normal", "ImageNotPulled",
                     fmt::format("Image \"{}\" is not pulled: the process runtime runs the "
                                 "command on this host's files",
                                 container.image));
    return std::nullopt;
  }
  std::string message = fmt::format(
      "image \"{}\" is not pulled: the process runtime runs commands of this host, and container "
      "{} has none. Set command, or start the cluster with koordctl up --runtime=containerd "
      "(Debian packages containerd, runc and busybox-static)",
      container.image, container.name);
  events_.record(containerOf(pod, container.name), "Warning", "Failed", "Error: " + message);
  return StartFailure{{"ErrImageNeverPull", std::move(message)},
                      executor_.wallNow() + kUntilPulled};
}

// All pods have the host's network: of two that listen on a port, the second one fails. The words
// come before the failure, and name the other pod.
void HostNode::warnOfSharedPorts(const std::string& uid, const HostPod& pod,
                                 const api::Container& container) {
  const auto clash = [&](const api::Container& other) -> const api::ContainerPort* {
    for (const auto& port : container.ports)
      for (const auto& taken : other.ports)
        if (port.containerPort == taken.containerPort &&
            (port.protocol.empty() ? "TCP" : port.protocol) ==
                (taken.protocol.empty() ? "TCP" : taken.protocol))
          return &port;
    return nullptr;
  };
  for (const auto& [otherUid, entry] : entries_) {
    if (otherUid == uid || !entry.pod) continue;
    for (const auto& running : entry.containers) {
      if (running.phase != RuntimeContainer::Phase::Running) continue;
      const auto& containers = entry.pod->spec.containers;
      const auto other = std::ranges::find(containers, running.name, &api::Container::name);
      const auto* port = other == containers.end() ? nullptr : clash(*other);
      if (!port) continue;
      events_.record(containerOf(pod, container.name), "Warning", "PortConflict",
                     fmt::format("Port {} is in use by pod {}/{}: pods of this node share its "
                                 "network, so only one can listen on a port",
                                 port->containerPort, entry.pod->metadata.namespace_,
                                 entry.pod->metadata.name));
      return;
    }
  }
}

// nullopt: the container can start. Otherwise the reason for which it waits, perhaps for a pull
// that was started here and looks at the pod again at its end.
Task<std::optional<HostNode::StartFailure>> HostNode::imageFailure(std::string uid, PodPtr pod,
                                                                   ContainerStart start) {
  if (!runtime_.abilities().images) co_return processFailure(*pod, start);
  const std::string name = start.container->name;
  const std::string image = start.container->image.str();
  const std::string policy = pod->container(name).imagePullPolicy;
  auto asking = runtime_.image(image);
  const auto found = co_await asking;
  const WallTime now = executor_.wallNow();
  if (!found) co_return StartFailure{{"ErrImageInspect", found.error().message}, now + kLookAgain};
  const auto& known = *found;
  Entry& entry = entries_.at(uid);
  const bool pulled = entry.pulls.contains(name) && entry.pulls.at(name).done;
  if (known) entry.pulls[name].runsAsRoot = known->runsAsRoot;
  if (known && (pulled || known->local || policy != "Always")) {
    if (!pulled)
      events_.record(containerOf(*pod, name), "Normal", "Pulled",
                     fmt::format("Container image \"{}\" already present on machine", image));
    co_return std::nullopt;
  }
  if (policy == "Never") {
    std::string message =
        fmt::format("Container image \"{}\" is not present with pull policy of Never", image);
    events_.record(containerOf(*pod, name), "Warning", "ErrImageNeverPull", message);
    co_return StartFailure{{"ErrImageNeverPull", std::move(message)}, now + kLookAgain};
  }
  entry.pulls[name].done = false;
  tasks_.spawn(pull(uid, pod, name, image));
  co_return StartFailure{{"ContainerCreating", fmt::format("pulling image \"{}\"", image)},
                         now + kUntilPulled};
}

// Apart from the pod's other work: a pod that is deleted meanwhile does not wait for its image.
Task<void> HostNode::pull(std::string uid, PodPtr pod, std::string container, std::string image) {
  const auto about = containerOf(*pod, container);
  events_.record(about, "Normal", "Pulling", fmt::format("Pulling image \"{}\"", image));
  const SteadyTime begun = executor_.steadyNow();
  auto looking = credentialsFor(pod, image);
  auto credentials = co_await looking;
  Result<> done;
  if (credentials) {
    auto pulling = runtime_.pullImage(image, *std::move(credentials));
    done = co_await pulling;
  } else {
    done = fail(std::move(credentials.error()));
  }
  const auto found = entries_.find(uid);
  if (stopped_ || found == entries_.end() || !found->second.pod) co_return;
  Pull& state = found->second.pulls[container];
  if (done) {
    state = {.done = true};
    found->second.startFailures.erase(container);
    const auto time =
        std::chrono::duration_cast<std::chrono::milliseconds>(executor_.steadyNow() - begun);
    events_.record(
        about, "Normal", "Pulled",
        fmt::format("Successfully pulled image \"{}\" in {}", image, formatDuration(time)));
  } else {
    ++state.failures;
    const std::string why = fmt::format(
        "failed to pull image \"{}\": {}; koordctl image load loads images without a "
        "registry",
        image, done.error().message);
    events_.record(about, "Warning", "Failed", "F" + why.substr(1));
    events_.record(about, "Warning", "Failed", "Error: ErrImagePull");
    const bool again = state.failures > 1;
    found->second.startFailures[container] = {
        {again ? "ImagePullBackOff" : "ErrImagePull",
         again ? fmt::format("Back-off pulling image \"{}\": ErrImagePull: {}", image, why) : why},
        executor_.wallNow() + pullBackoff(state.failures)};
  }
  touch(uid);
}

// Those of the pod's imagePullSecrets for the image's registry. A missing Secret is not an error,
// as in kubelet: the image may be public.
Task<Result<std::vector<ImageCredentials>>> HostNode::credentialsFor(PodPtr pod,
                                                                     std::string image) {
  ReferencedNames names;
  for (const auto& secret : pod->details.imagePullSecrets) names.secrets.push_back(secret.name);
  std::vector<ImageCredentials> found;
  if (names.secrets.empty()) co_return found;
  auto reading = volumes_.objectsOf(pod, names);
  auto objects = co_await reading;
  if (!objects) co_return fail(std::move(objects.error()));
  for (const auto& [name, secret] : objects->secrets) {
    const auto* data =
        secret ? api::findIn(secret->data, std::string_view(kDockerConfig)) : nullptr;
    if (!data) {
      events_.record(kube::referenceTo(api::Pod::kType, pod->metadata), "Warning",
                     "FailedToRetrieveImagePullSecret",
                     fmt::format("Unable to retrieve some image pull secrets ({}); attempting to "
                                 "pull the image may not succeed.",
                                 name));
      continue;
    }
    const auto text = base64Decode(*data);
    auto credentials = text ? credentialsIn(*text, image) : fail(text.error());
    if (!credentials) co_return fail(std::move(credentials.error()).within("secret " + name));
    if (*credentials) found.push_back(**std::move(credentials));
  }
  co_return found;
}

}  // namespace koord::cluster
