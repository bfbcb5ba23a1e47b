#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"
#include "cluster/hostnode/container_config.h"
#include "cluster/hostnode/host_node.h"
#include "cluster/hostnode/host_node_parts.h"
#include "cluster/hostnode/lifecycle_hooks.h"
#include "cluster/hostnode/termination_message.h"

namespace koord::cluster {

using namespace std::chrono_literals;

namespace {

constexpr Duration kStartRetry = 10s;
constexpr Duration kFirstVolumeRetry = 500ms;
constexpr Duration kLastVolumeRetry = 2min;
constexpr Duration kNoLimit = 24h;  // of a hook without a limit

bool hasPostStart(const HostPod& pod, const std::string& container) {
  const auto& lifecycle = pod.container(container).lifecycle;
  return lifecycle && lifecycle->postStart;
}

}  // namespace

// Keeps only the due starts in the plan; returns true if there is one.
bool HostNode::mayStart(Entry& entry, PodPlan& plan) const {
  const WallTime now = executor_.wallNow();
  const auto wake = [&](WallTime when) {
    if (!plan.wakeAt || when < *plan.wakeAt) plan.wakeAt = when;
  };
  if (entry.volumeFailures > 0) wake(entry.volumesRetryAt);
  if (!entry.places) plan.starts.clear();
  std::erase_if(plan.starts, [&](const ContainerStart& start) {
    const auto failure = entry.startFailures.find(start.container->name);
    if (failure == entry.startFailures.end() || failure->second.retryAt <= now) return false;
    wake(failure->second.retryAt);
    return true;
  });
  return !plan.starts.empty();
}

// Sets up the pod's volumes if due. Failures are in the entry, and were reported.
Task<void> HostNode::prepareVolumes(std::string uid, PodPtr pod) {
  const WallTime now = executor_.wallNow();
  {
    Entry& entry = entries_.at(uid);
    const auto refresh = volumes_.refreshAt(uid);
    const bool due = entry.volumesDue || (refresh && *refresh <= now);
    if (!due || (entry.volumeFailures > 0 && now < entry.volumesRetryAt)) co_return;
    entry.volumesDue = false;
    entry.hasVolumes = true;
  }
  if (auto why = sandboxRefusal(*pod)) {
    // A retry cannot succeed.
    events_.record(kube::referenceTo(api::Pod::kType, pod->metadata), "Warning",
                   "FailedCreatePodSandBox", "Failed to create pod sandbox: " + *why);
    entries_.at(uid).waitsFor = "Failed to create pod sandbox: " + *why;
    co_return;
  }
  auto settingUp = volumes_.setUp(pod);
  auto places = co_await settingUp;
  if (!places) {
    volumesFailed(uid, *pod, std::move(places.error().message));
    co_return;
  }
  Entry& entry = entries_.at(uid);
  entry.places = *std::move(places);
  entry.volumeFailures = 0;
  entry.waitsFor.clear();
}

void HostNode::volumesFailed(const std::string& uid, const HostPod& pod, std::string message) {
  events_.record(kube::referenceTo(api::Pod::kType, pod.metadata), "Warning", "FailedMount",
                 message);
  Entry& entry = entries_.at(uid);
  entry.volumesDue = true;
  const int doublings = std::min(entry.volumeFailures++, 10);
  entry.volumesRetryAt = executor_.wallNow() +
                         std::min<Duration>(kFirstVolumeRetry * (1 << doublings), kLastVolumeRetry);
  if (!entry.places) entry.waitsFor = std::move(message);
}

Task<Result<>> HostNode::startContainers(std::string uid, PodPlan plan) {
  const PodPtr pod = plan.pod;  // the starts point into it
  if (auto made = makePodCgroup(*pod); !made) co_return made;
  auto preparing = runtime_.preparePod(refOf(uid, entries_.at(uid)), sandboxOf(*pod));
  auto prepared = co_await preparing;
  if (!prepared) co_return prepared;
  for (const auto& start : plan.starts) {
    if (stopped_) co_return Result<>{};
    const std::string name = start.container->name;
    auto looking = imageFailure(uid, pod, start);
    if (auto failure = co_await looking) {
      entries_.at(uid).startFailures[name] = *std::move(failure);
      continue;
    }
    if (start.attempt == 0) warnOfSharedPorts(uid, *pod, *start.container);
    auto starting = startContainer(uid, pod, start);
    auto started = co_await starting;
    if (!started) {
      onStartFailed(uid, *pod, name, std::move(started.error()));
      continue;
    }
    entries_.at(uid).startFailures.erase(name);
    entries_.at(uid).pulls.erase(name);
    events_.record(containerOf(*pod, name), "Normal", "Started", "Started container " + name);
    if (!hasPostStart(*pod, name)) continue;
    // The next container starts after the hook.
    entries_.at(uid).settingUp.insert(*started);
    tasks_.spawn(postStart(uid, pod, name, *std::move(started)));
    break;
  }
  co_return Result<>{};
}

Task<Result<std::string>> HostNode::startContainer(std::string uid, PodPtr pod,
                                                   ContainerStart start) {
  const std::string name = start.container->name;
  const auto& details = pod->container(name);
  const auto image = entries_.at(uid).pulls.find(name);
  const bool root = image == entries_.at(uid).pulls.end() || image->second.runsAsRoot;
  if (auto why = containerRefusal(*pod, name, runtime_.abilities(), root))
    co_return fail(ErrorCode::Invalid, *std::move(why));
  if (!details.volumeDevices.empty())
    co_return fail(ErrorCode::Invalid,
                   fmt::format("volumeDevices: volume \"{}\": this node has no block volumes",
                               details.volumeDevices.front().name));
  auto reading = volumes_.objectsOf(pod, environmentReferences(details));
  auto objects = co_await reading;
  if (!objects) co_return fail(std::move(objects.error()));
  ContainerInputs inputs;
  inputs.attempt = start.attempt;
  inputs.hasImage = runtime_.abilities().images;
  if (const auto& target = details.targetContainerName; !target.empty()) {
    const auto& known = entries_.at(uid).containers;
    const auto running = std::ranges::find_if(known, [&](const RuntimeContainer& container) {
      return container.name == target && container.phase == RuntimeContainer::Phase::Running;
    });
    if (running == known.end())
      co_return fail(ErrorCode::Unavailable,
                     fmt::format("targetContainerName: container {} does not run", target));
    inputs.pidsOf = running->id;
  }
  Variables variables;
  if (services_.environment)
    variables = services_.environment(pod->metadata.namespace_,
                                      pod->details.enableServiceLinks.value_or(true));
  // Images have their own.
  if (!runtime_.abilities().images) {
    variables["PATH"] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
    variables["HOME"] = "/root";
  }
  auto environment =
      environmentOf(volumes_.fieldsOf(*pod), details, *objects, std::move(variables));
  if (!environment) co_return fail(std::move(environment.error()));
  inputs.environment = *std::move(environment);
  // For a plain process the default path would require a private /dev, for a message that few
  // programs write.
  const std::string& place = details.terminationMessagePath;
  const bool mounted = !place.empty() && (place != kTerminationLog || !runtime_.resolvesSubPaths());
  auto mounting = volumes_.mountsOf(pod, name, *entries_.at(uid).places, inputs.environment,
                                    mounted ? messageFile(uid, name, start.attempt) : "");
  auto mounts = co_await mounting;
  if (!mounts) co_return fail(std::move(mounts.error()));
  inputs.mounts = *std::move(mounts);
  ContainerConfig config =
      configOf(*pod, refOf(uid, entries_.at(uid)), *start.container, std::move(inputs));
  auto starting = runtime_.startContainer(std::move(config));
  auto started = co_await starting;
  entries_.at(uid).stale = true;
  entries_.at(uid).startedAt = lastList_;
  co_return started;
}

void HostNode::onStartFailed(const std::string& uid, const HostPod& pod,
                             const std::string& container, Error error) {
  const bool config = error.code == ErrorCode::Invalid;
  events_.record(containerOf(pod, container), "Warning", "Failed", "Error: " + error.message);
  entries_.at(uid).startFailures[container] = {
      {config ? "CreateContainerConfigError" : "CreateContainerError", std::move(error.message)},
      executor_.wallNow() + kStartRetry};
}

Task<void> HostNode::postStart(std::string uid, PodPtr pod, std::string name, std::string id) {
  const spec::LifecycleHandler hook = *pod->container(name).lifecycle->postStart;
  auto running = runHook({executor_, runtime_, http_}, targetOf(*pod, name, id), hook, kNoLimit);
  auto done = co_await running;
  const auto entry = entries_.find(uid);
  if (entry == entries_.end() || stopped_) co_return;
  entry->second.settingUp.erase(id);
  if (!done) {
    events_.record(containerOf(*pod, name), "Warning", "FailedPostStartHook",
                   "PostStartHook failed: " + done.error().message);
    events_.record(containerOf(*pod, name), "Normal", "Killing", "FailedPostStartHook");
    entry->second.unhealthy.insert(id);
    stop(uid, id, graceOf(*pod));
  }
  touch(uid);
}

ProbeTarget HostNode::targetOf(const HostPod& pod, const std::string& container,
                               const std::string& id) const {
  ProbeTarget target{id, options_.node.ip, {}};
  for (const auto* list : {&pod.spec.containers, &pod.spec.initContainers})
    for (const auto& candidate : *list)
      if (candidate.name == container) target.ports = candidate.ports;
  return target;
}

// Probes running containers after their postStart hook.
void HostNode::watchHealth(const std::string& uid, const Entry& entry) {
  if (!entry.pod) return;
  std::vector<Probes::Container> running;
  for (const auto& container : entry.containers) {
    if (container.phase != RuntimeContainer::Phase::Running) continue;
    if (entry.settingUp.contains(container.id)) continue;
    const auto target = targetOf(*entry.pod, container.name, container.id);
    running.push_back({container.id, container.name, container.startedAt, target.ports});
  }
  log::v(3, "pod {}: {} containers are watched", uid, running.size());
  probes_.set(entry.pod, options_.node.ip, running);
}

void HostNode::killUnhealthy(const std::string& uid, const std::string& id, ProbeKind kind,
                             const spec::Probe& probe) {
  const auto entry = entries_.find(uid);
  if (entry == entries_.end() || !entry->second.pod || stopped_) return;
  const PodPtr pod = entry->second.pod;
  const auto container = std::ranges::find(entry->second.containers, id, &RuntimeContainer::id);
  if (container == entry->second.containers.end() || !alive(*container)) return;
  const bool willRestart = pod->spec.restartPolicy != "Never";
  events_.record(containerOf(*pod, container->name), "Normal", "Killing",
                 fmt::format("Container {} failed {} probe{}", container->name,
                             kind == ProbeKind::Startup ? "startup" : "liveness",
                             willRestart ? ", will be restarted" : ""));
  entry->second.unhealthy.insert(id);
  stop(uid, id,
       probe.terminationGracePeriodSeconds ? graceTime(*probe.terminationGracePeriodSeconds)
                                           : graceOf(*pod));
  touch(uid);
}

}  // namespace koord::cluster
