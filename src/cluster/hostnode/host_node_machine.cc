#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"
#include "cluster/hostnode/host_node.h"
#include "cluster/hostnode/host_node_parts.h"
#include "cluster/hostnode/pod_cgroups.h"
#include "cluster/hostnode/termination_message.h"
#include "cluster/hostnode/volumes/on_worker.h"

namespace koord::cluster {

using namespace std::chrono_literals;

namespace {
constexpr Duration kSignalPeriod = 10s;  // kubelet's period
}

Task<void> HostNode::relistForever() {
  while (!stopped_) {
    auto listing = relist();
    auto listed = co_await listing;
    if (!listed) log::warn("list containers: {}", listed.error().message);
    if (executor_.steadyNow() - lastSweep_ >= options_.orphanPeriod && listed_ && pods_.synced()) {
      lastSweep_ = executor_.steadyNow();
      auto sweeping = sweepOrphans();
      co_await sweeping;
    }
    auto pause = sleepFor(executor_, options_.relistPeriod);
    co_await pause;
  }
}

// Does not evict pods: the conditions keep new pods away.
Task<void> HostNode::watchPressures() {
  PressureWatch watch(options_.evictionHard);
  NodePressures before;
  while (!stopped_) {
    auto reading = onWorker(executor_, worker_, readSignals_);
    const auto signals = co_await reading;
    const auto now = watch.observe(signals, executor_.steadyNow());
    if (now != before)
      log::warn("node {}: MemoryPressure {}, DiskPressure {}, PIDPressure {}", options_.node.name,
                now.memory, now.disk, now.pid);
    before = now;
    registration_.setPressures(now);
    auto pause = sleepFor(executor_, kSignalPeriod);
    co_await pause;
  }
}

Task<Result<>> HostNode::relist() {
  const std::uint64_t number = ++lastList_;
  auto listing = runtime_.list();
  auto listed = co_await listing;
  if (!listed) co_return fail(std::move(listed.error()));
  if (number < appliedList_) co_return Result<>{};  // a newer list was applied before
  appliedList_ = number;
  std::map<std::string, std::vector<RuntimeContainer>> byPod;
  for (auto& container : *listed) byPod[container.pod.uid].push_back(std::move(container));
  for (auto& [uid, containers] : byPod) {
    std::ranges::sort(containers, {}, &RuntimeContainer::id);
    entries_[uid];
  }
  const bool first = !std::exchange(listed_, true);
  std::vector<std::string> changed;
  for (auto& [uid, entry] : entries_) {
    if (entry.stale && number <= entry.startedAt) continue;
    auto& containers = byPod[uid];
    fillTerminationMessages(entry, containers);
    const bool differs = entry.containers != containers;
    entry.containers = std::move(containers);
    entry.stale = false;
    if (!entry.containers.empty()) entry.hasCgroup = true;
    // A pod that the API has not delivered yet is not a deleted one.
    if ((differs || first) && (entry.pod || pods_.synced())) changed.push_back(uid);
  }
  for (const auto& uid : changed) touch(uid);
  co_return Result<>{};
}

std::string HostNode::messageFile(const std::string& uid, const std::string& container,
                                  int attempt) const {
  return fmt::format("{}/containers/{}/{}", volumes_.podDir(uid), container, attempt);
}

// Adds what runtimes do not know: the termination messages.
void HostNode::fillTerminationMessages(Entry& entry,
                                       std::vector<RuntimeContainer>& containers) const {
  if (!entry.pod) return;
  for (auto& container : containers) {
    if (alive(container) || !container.message.empty()) continue;
    const auto [words, fresh] = entry.terminationMessages.try_emplace(container.id);
    const auto& policy = entry.pod->container(container.name).terminationMessagePolicy;
    if (fresh)
      words->second = terminationMessage(
          messageFile(entry.pod->metadata.uid, container.name, container.attempt),
          container.logPath, container.exitCode != 0 && policy == "FallbackToLogsOnError");
    container.message = words->second;
  }
}

// Removes pods whose objects are gone, and cgroups and volumes without a pod, which a crash may
// leave.
Task<void> HostNode::sweepOrphans() {
  auto looking = volumes_.pods();
  const auto withVolumes = co_await looking;
  std::vector<std::string> orphans;
  for (const auto& uid : withVolumes) {
    Entry& entry = entries_[uid];
    entry.hasVolumes = true;
    if (entry.pod && api::isTerminal(*entry.pod)) orphans.push_back(uid);
  }
  for (const auto qos : {model::KubernetesQos::Guaranteed, model::KubernetesQos::Burstable,
                         model::KubernetesQos::BestEffort}) {
    for (const auto& name : cgroups_.children(qosCgroup(qos))) {
      if (!name.starts_with("pod")) continue;
      const std::string uid = name.substr(3);
      Entry& entry = entries_[uid];
      const bool over = entry.pod && api::isTerminal(*entry.pod);
      if (!entry.pod || over) {
        entry.hasCgroup = true;
        orphans.push_back(uid);
      }
    }
  }
  for (const auto& [uid, entry] : entries_)
    if (!entry.pod) orphans.push_back(uid);
  for (const auto& uid : orphans) touch(uid);
}

void HostNode::updateQosCgroups() {
  std::int64_t burstable = 0;
  for (const auto& [uid, entry] : entries_)
    if (entry.pod && entry.hasCgroup &&
        model::kubernetesQos(*entry.pod) == model::KubernetesQos::Burstable)
      burstable += podValues(entry.pod->spec).cpuShares.value_or(0);
  CgroupValues root;
  root.cpuShares = sharesOfMilliCpu(options_.node.allocatable["cpu"].milliValue());
  root.memoryLimitBytes = options_.node.allocatable["memory"].value();
  const std::pair<model::KubernetesQos, CgroupValues> wanted[] = {
      {model::KubernetesQos::Guaranteed, root},
      {model::KubernetesQos::Burstable,
       {.cpuShares = std::clamp<std::int64_t>(burstable, 2, 262'144)}},
      {model::KubernetesQos::BestEffort, {.cpuShares = 2}}};
  for (const auto& [qos, values] : wanted) {
    const std::string path = qosCgroup(qos);
    const auto done =
        cgroups_.exists(path) ? cgroups_.update(path, values) : cgroups_.create(path, values);
    if (!done) log::warn("{}", done.error().message);
  }
}

Result<> HostNode::makePodCgroup(const api::Pod& pod) {
  const std::string path = podCgroup(pod);
  // An empty cgroup may be incomplete after a crash. If there are containers, its values may be
  // koordlet's.
  if (cgroups_.children(path).empty()) {
    if (auto made = cgroups_.create(path, podValues(pod.spec)); !made) return made;
  }
  entries_.at(pod.metadata.uid).hasCgroup = true;
  updateQosCgroups();
  return {};
}

PodRef HostNode::refOf(const std::string& uid, const Entry& entry) const {
  if (entry.pod)
    return {uid, entry.pod->metadata.namespace_, entry.pod->metadata.name, podCgroup(*entry.pod)};
  if (!entry.containers.empty()) return entry.containers.front().pod;
  for (const auto qos : {model::KubernetesQos::Guaranteed, model::KubernetesQos::Burstable,
                         model::KubernetesQos::BestEffort}) {
    std::string path = qosCgroup(qos) + "/pod" + uid;
    if (cgroups_.exists(path)) return {uid, "", "", std::move(path)};
  }
  return {uid, "", "", ""};
}

Task<void> HostNode::shutdown(Duration grace) {
  stopped_ = true;
  auto listing = runtime_.list();
  auto listed = co_await listing;
  if (!listed) co_return;
  const SteadyTime deadline = executor_.steadyNow() + grace;
  // Stops all of them concurrently.
  TaskGroup stops;
  for (const auto& container : *listed)
    if (alive(container)) stops.spawn(stopOne(container.pod.uid, container.id, grace));
  while (stops.size() > 0 && executor_.steadyNow() < deadline + 2s) {
    auto pause = sleepFor(executor_, 10ms);
    co_await pause;
  }
  std::map<std::string, PodRef> pods;
  for (const auto& container : *listed) pods.emplace(container.pod.uid, container.pod);
  // A pod was prepared even if none of its containers could be started.
  for (const auto& [uid, entry] : entries_)
    if (entry.hasCgroup) pods.emplace(uid, refOf(uid, entry));
  for (const auto& [uid, pod] : pods) {
    auto removing = runtime_.removePod(pod);
    auto removed = co_await removing;
    if (!removed) log::v(1, "{}", removed.error().message);
  }
  auto unmounting = volumes_.unmountAll();
  auto unmounted = co_await unmounting;
  if (!unmounted) log::warn("{}", unmounted.error().message);
  cgroups_.kill(kPodsRoot);
  for (int tries = 0; tries < 100; ++tries) {
    const auto removed = cgroups_.remove(kPodsRoot);
    if (removed) co_return;
    if (tries == 99) log::warn("{}", removed.error().message);
    auto pause = sleepFor(executor_, 20ms);
    co_await pause;
  }
}

}  // namespace koord::cluster
