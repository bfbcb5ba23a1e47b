#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>

#include "base/log.h"
#include "cluster/hostnode/host_node.h"
#include "cluster/hostnode/host_node_parts.h"
#include "cluster/hostnode/lifecycle_hooks.h"
#include "model/pod_requests.h"

namespace koord::cluster {

using namespace std::chrono_literals;

namespace {
// Minimum grace period of a container after its preStop hook.
constexpr Duration kMinGrace = 2s;
// Grace periods are whole seconds; a smaller difference is the same request by another clock.
constexpr Duration kSameGrace = 500ms;
}  // namespace

std::vector<RuntimeContainer> nextToStop(const api::Pod& pod,
                                         const std::vector<RuntimeContainer>& containers) {
  std::vector<RuntimeContainer> served;
  std::map<std::ptrdiff_t, RuntimeContainer> sidecars;  // by position in the spec
  const auto& init = pod.spec.initContainers;
  for (const auto& container : containers) {
    if (!alive(container)) continue;
    const auto own = std::ranges::find(init, container.name, &api::Container::name);
    if (own != init.end() && model::isSidecar(*own))
      sidecars.emplace(own - init.begin(), container);
    else
      served.push_back(container);
  }
  if (served.empty() && !sidecars.empty()) return {sidecars.rbegin()->second};
  return served;
}

// Stops the pod's containers in order. Sidecars get a short time of their own, no matter how long
// the others took.
void HostNode::stopSequentially(const std::string& uid, const HostPod& pod, Duration grace) {
  for (const auto& container : nextToStop(pod, entries_.at(uid).containers)) {
    const bool sidecar = std::ranges::find(pod.spec.containers, container.name,
                                           &api::Container::name) == pod.spec.containers.end();
    if (pod.metadata.deletionTimestamp && !entries_.at(uid).stopping.contains(container.id))
      events_.record(containerOf(pod, container.name), "Normal", "Killing",
                     "Stopping container " + container.name);
    stop(uid, container.id, sidecar ? std::max(grace, kMinGrace) : grace);
  }
}

void HostNode::stop(const std::string& uid, const std::string& id, Duration grace) {
  Entry& entry = entries_.at(uid);
  const SteadyTime deadline = executor_.steadyNow() + grace;
  const auto [known, fresh] = entry.stopping.try_emplace(id, deadline);
  if (!fresh) {
    if (known->second <= deadline + kSameGrace) return;  // only a shorter grace period applies
    known->second = deadline;
  }
  tasks_.spawn(stopOne(uid, id, grace));
}

Task<void> HostNode::stopOne(std::string uid, std::string id, Duration grace) {
  auto leaving = preStop(uid, id, grace);
  const Duration left = co_await leaving;
  auto stopping = runtime_.stopContainer(id, left);
  auto stopped = co_await stopping;
  if (!stopped) log::warn("stop container {}: {}", id, stopped.error().message);
  const auto entry = entries_.find(uid);
  if (entry == entries_.end()) co_return;
  if (!stopped) entry->second.stopping.erase(id);
  auto listing = relist();
  auto listed = co_await listing;
  if (!listed) log::warn("{}", listed.error().message);
  touch(uid);
}

// Runs the container's preStop hook, once; returns the rest of the grace period.
Task<Duration> HostNode::preStop(std::string uid, std::string id, Duration grace) {
  const auto entry = entries_.find(uid);
  if (grace <= 0s || entry == entries_.end() || !entry->second.pod) co_return grace;
  const PodPtr pod = entry->second.pod;
  const auto& containers = entry->second.containers;
  const auto container = std::ranges::find(containers, id, &RuntimeContainer::id);
  if (container == containers.end() || container->phase != RuntimeContainer::Phase::Running)
    co_return grace;
  const std::string name = container->name;
  const auto& lifecycle = pod->container(name).lifecycle;
  if (!lifecycle || !lifecycle->preStop || !entry->second.preStopStarted.insert(id).second)
    co_return grace;
  const SteadyTime begun = executor_.steadyNow();
  const spec::LifecycleHandler hook = *lifecycle->preStop;
  auto running = runHook({executor_, runtime_, http_}, targetOf(*pod, name, id), hook, grace);
  auto done = co_await running;
  if (!done)
    events_.record(containerOf(*pod, name), "Warning", "FailedPreStopHook",
                   "PreStopHook failed: " + done.error().message);
  co_return std::max<Duration>(grace - (executor_.steadyNow() - begun), kMinGrace);
}

}  // namespace koord::cluster
