#include "cluster/hostnode/host_node.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "base/log.h"
#include "cluster/hostnode/pod_cgroups.h"
#include "kube/client.h"
#include "model/well_known.h"

namespace koord::cluster {

using namespace std::chrono_literals;

namespace {

using Phase = RuntimeContainer::Phase;

constexpr Duration kRetry = 1s;
constexpr Duration kBusyRetry = 50ms;
constexpr Duration kStartRetry = 10s;
constexpr std::int64_t kDefaultGraceSeconds = 30;

bool alive(const RuntimeContainer& container) {
  return container.phase != Phase::Exited;
}

Duration graceOf(const api::Pod& pod) {
  return std::chrono::seconds(
      pod.spec.terminationGracePeriodSeconds.value_or(kDefaultGraceSeconds));
}

// With the zeros that readers of container statuses expect to be written out.
json::value statusDocument(const api::PodStatus& status) {
  json::value document = api::encode(status);
  for (const char* list : {"initContainerStatuses", "containerStatuses"}) {
    auto* containers = find(document, list);
    if (!containers || !containers->is_array()) continue;
    for (auto& container : containers->get_array()) {
      auto& members = container.get_object();
      if (!members.contains("ready")) members["ready"] = false;
      if (!members.contains("restartCount")) members["restartCount"] = 0;
    }
  }
  return document;
}

api::ObjectReference containerOf(const api::Pod& pod, const std::string& container) {
  auto reference = kube::referenceTo(api::Pod::kType, pod.metadata);
  reference.fieldPath = "spec.containers{" + container + "}";
  return reference;
}

}  // namespace

HostNode::HostNode(kube::Api& api, Executor& executor, Runtime& runtime, Cgroups& cgroups,
                   Random random, HostNodeOptions options)
    : api_(api),
      executor_(executor),
      runtime_(runtime),
      cgroups_(cgroups),
      options_(std::move(options)),
      events_(api, executor, "kubelet", random.fork()),
      registration_(api, executor, options_.node),
      pods_(api, executor, kube::WatchScope{"", "", "spec.nodeName=" + options_.node.name},
            random.fork()) {
  pods_.addHandler({[this](const auto& pod) { seen(pod); },
                    [this](const auto&, const auto& pod) { seen(pod); },
                    [this](const auto& pod) { vanished(pod); }});
}

HostNode::~HostNode() {
  for (auto& [uid, entry] : entries_)
    if (entry.timer != 0) executor_.cancel(entry.timer);
}

void HostNode::start() {
  updateQosCgroups();
  registration_.start();
  tasks_.spawn(relistForever());
  pods_.start();
}

// ---- pods ----

void HostNode::seen(const PodPtr& pod) {
  entries_[pod->metadata.uid].pod = pod;
  touch(pod->metadata.uid);
}

void HostNode::vanished(const PodPtr& pod) {
  const auto entry = entries_.find(pod->metadata.uid);
  if (entry == entries_.end()) return;
  entry->second.pod = nullptr;
  touch(pod->metadata.uid);
}

void HostNode::touch(const std::string& uid) {
  // Without a look at the runtime a pod that runs would be started again.
  if (!listed_ || stopped_) return;
  const auto found = entries_.find(uid);
  if (found == entries_.end()) return;
  Entry& entry = found->second;
  entry.dirty = true;
  if (entry.working) return;
  entry.working = true;
  tasks_.spawn(work(uid));
}

void HostNode::touchAfter(const std::string& uid, Duration delay) {
  const auto found = entries_.find(uid);
  if (found == entries_.end()) return;
  Entry& entry = found->second;
  if (entry.timer != 0) executor_.cancel(entry.timer);
  entry.timer = executor_.runAfter(delay, [this, uid] {
    if (const auto it = entries_.find(uid); it != entries_.end()) it->second.timer = 0;
    touch(uid);
  });
}

Task<void> HostNode::work(std::string uid) {
  // Entries are erased here only, while nothing else works on them.
  while (!stopped_) {
    Entry& entry = entries_.at(uid);
    if (!entry.dirty) break;
    entry.dirty = false;
    auto syncing = sync(uid);
    auto done = co_await syncing;
    if (!done) {
      const bool busy = done.error().code == ErrorCode::Conflict;
      if (!busy) log::warn("pod {}: {}", uid, done.error().message);
      touchAfter(uid, busy ? kBusyRetry : kRetry);
    }
  }
  Entry& entry = entries_.at(uid);
  entry.working = false;
  if (!entry.pod && entry.containers.empty() && !entry.hasCgroup && !entry.dirty) {
    if (entry.timer != 0) executor_.cancel(entry.timer);
    entries_.erase(uid);
    updateQosCgroups();
  }
}

Task<Result<>> HostNode::sync(std::string uid) {
  const Entry& entry = entries_.at(uid);
  const PodPtr pod = entry.pod;
  if (!pod) {
    auto down = takeDown(uid, 0s);
    co_return co_await down;
  }
  if (pod->metadata.deletionTimestamp) {
    const Duration left = *pod->metadata.deletionTimestamp - executor_.wallNow();
    auto down = takeDown(uid, std::max<Duration>(left, 0s));
    auto done = co_await down;
    const Entry& after = entries_.at(uid);
    if (!done || !after.containers.empty() || after.hasCgroup) co_return done;
    // Who holds a pod back by a finalizer wants to know that it has ended.
    if (!pod->metadata.finalizers.empty() && !api::isTerminal(*pod)) {
      json::value patch =
          json::object{{"metadata", {{"uid", uid}}}, {"status", {{"phase", "Failed"}}}};
      auto ending = kube::mergePatch(api_, api::Pod::kType, api::keyOf(pod->metadata),
                                     std::move(patch), "status");
      auto ended = co_await ending;
      if (!ended && ended.error().code != ErrorCode::NotFound)
        co_return fail(std::move(ended.error()));
    }
    auto deleting = deleteFromApi(pod);
    co_return co_await deleting;
  }
  if (api::isTerminal(*pod)) {
    // The containers' records stay for their logs; the cgroup is not needed any more.
    bool running = false;
    for (const auto& container : entry.containers) {
      if (!alive(container)) continue;
      running = true;
      stop(uid, container.id, graceOf(*pod));
    }
    if (running || !entry.hasCgroup) co_return Result<>{};
    auto removing = runtime_.removePod(refOf(uid, entry));
    auto removed = co_await removing;
    if (!removed) co_return removed;
    if (auto gone = cgroups_.remove(podCgroup(*pod)); !gone) co_return gone;
    entries_.at(uid).hasCgroup = false;
    updateQosCgroups();
    co_return Result<>{};
  }
  auto running = runPod(uid, pod);
  co_return co_await running;
}

PodPlan HostNode::plan(const Entry& entry) const {
  std::map<std::string, api::ContainerStateWaiting> failures;
  for (const auto& [name, failure] : entry.startFailures) failures[name] = failure.state;
  return planPod({*entry.pod, entry.containers, failures, executor_.wallNow(), options_.node.ip});
}

Task<Result<>> HostNode::runPod(std::string uid, PodPtr pod) {
  if (entries_.at(uid).stale) {
    // Planning on an old list would start a second container.
    auto listing = relist();
    auto listed = co_await listing;
    if (!listed) co_return listed;
  }
  PodPlan next = plan(entries_.at(uid));
  for (const auto& id : next.stops) stop(uid, id, graceOf(*pod));
  for (const auto& id : next.forget) {
    auto removing = runtime_.removeContainer(id);
    auto removed = co_await removing;
    if (!removed) log::v(2, "{}", removed.error().message);
  }
  const WallTime now = executor_.wallNow();
  std::erase_if(next.starts, [&](const ContainerStart& start) {
    const auto& failures = entries_.at(uid).startFailures;
    const auto failure = failures.find(start.container->name);
    if (failure == failures.end() || failure->second.retryAt <= now) return false;
    if (!next.wakeAt || failure->second.retryAt < *next.wakeAt)
      next.wakeAt = failure->second.retryAt;
    return true;
  });
  if (!next.starts.empty()) {
    auto starting = startContainers(uid, pod, std::move(next.starts));
    auto started = co_await starting;
    if (!started) co_return started;
    auto listing = relist();
    auto listed = co_await listing;
    if (!listed) co_return listed;
    const Entry& entry = entries_.at(uid);
    if (entry.pod != pod) co_return Result<>{};  // it has changed meanwhile, and is marked dirty
    next = plan(entry);
  }
  if (next.wakeAt)
    touchAfter(uid, std::max<Duration>(*next.wakeAt - executor_.wallNow(), 0s) + 1ms);
  auto reporting = report(uid, pod, std::move(next.status));
  co_return co_await reporting;
}

Result<> HostNode::makePodCgroup(const api::Pod& pod) {
  const std::string path = podCgroup(pod);
  if (!cgroups_.exists(path)) {
    if (auto made = cgroups_.create(path, podValues(pod.spec)); !made) return made;
  }
  entries_.at(pod.metadata.uid).hasCgroup = true;
  updateQosCgroups();
  return {};
}

Task<Result<>> HostNode::startContainers(std::string uid, PodPtr pod,
                                         std::vector<ContainerStart> starts) {
  if (auto made = makePodCgroup(*pod); !made) co_return made;
  auto preparing = runtime_.preparePod(refOf(uid, entries_.at(uid)));
  auto prepared = co_await preparing;
  if (!prepared) co_return prepared;
  for (const auto& start : starts) {
    if (stopped_) co_return Result<>{};
    const api::Container& container = *start.container;
    Result<std::string> started;
    if (auto environment = environmentOf(*pod, container, options_.node.ip)) {
      ContainerConfig config;
      config.pod = refOf(uid, entries_.at(uid));
      config.name = container.name;
      config.attempt = start.attempt;
      config.image = container.image;
      config.command = expandVariables(container.command, *environment);
      config.args = expandVariables(container.args, *environment);
      config.env = *std::move(environment);
      config.workingDir = container.workingDir;
      config.values = containerValues(container);
      auto starting = runtime_.startContainer(std::move(config));
      started = co_await starting;
      entries_.at(uid).stale = true;
      entries_.at(uid).startedAt = lastList_;
    } else {
      started = fail(std::move(environment.error()));
    }
    auto& failures = entries_.at(uid).startFailures;
    if (started) {
      failures.erase(container.name);
      events_.record(containerOf(*pod, container.name), "Normal", "Started",
                     "Started container " + container.name);
    } else {
      const bool config = started.error().code == ErrorCode::Invalid;
      const char* reason = config ? "CreateContainerConfigError" : "CreateContainerError";
      events_.record(containerOf(*pod, container.name), "Warning", "Failed",
                     "Error: " + started.error().message);
      failures[container.name] = {{reason, std::move(started.error().message)},
                                  executor_.wallNow() + kStartRetry};
    }
  }
  co_return Result<>{};
}

void HostNode::stop(const std::string& uid, const std::string& id, Duration grace) {
  Entry& entry = entries_.at(uid);
  const SteadyTime deadline = executor_.steadyNow() + grace;
  const auto [known, fresh] = entry.stopping.try_emplace(id, deadline);
  if (!fresh) {
    if (known->second <= deadline) return;  // a shorter grace time than before counts
    known->second = deadline;
  }
  tasks_.spawn(stopOne(uid, id, grace));
}

Task<void> HostNode::stopOne(std::string uid, std::string id, Duration grace) {
  auto stopping = runtime_.stopContainer(id, grace);
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

// One step towards nothing of the pod being left on this machine: first the processes, then the
// records, then the cgroups. Called again whenever a step is done.
Task<Result<>> HostNode::takeDown(std::string uid, Duration grace) {
  bool running = false;
  for (const auto& container : entries_.at(uid).containers) {
    if (!alive(container)) continue;
    running = true;
    const auto& entry = entries_.at(uid);
    if (entry.pod && !entry.stopping.contains(container.id))
      events_.record(containerOf(*entry.pod, container.name), "Normal", "Killing",
                     "Stopping container " + container.name);
    stop(uid, container.id, grace);
  }
  if (running) co_return Result<>{};
  const PodRef pod = refOf(uid, entries_.at(uid));
  const auto containers = entries_.at(uid).containers;
  for (const auto& container : containers) {
    auto removing = runtime_.removeContainer(container.id);
    auto removed = co_await removing;
    if (!removed) co_return removed;
    std::erase_if(entries_.at(uid).containers,
                  [&](const auto& known) { return known.id == container.id; });
  }
  auto removing = runtime_.removePod(pod);
  auto removed = co_await removing;
  if (!removed) co_return removed;
  if (!pod.cgroup.empty()) {
    cgroups_.kill(pod.cgroup);
    if (auto gone = cgroups_.remove(pod.cgroup); !gone) co_return gone;
  }
  entries_.at(uid).hasCgroup = false;
  updateQosCgroups();
  co_return Result<>{};
}

Task<Result<>> HostNode::deleteFromApi(PodPtr pod) {
  kube::DeleteOptions options;
  options.uid = pod->metadata.uid;
  options.gracePeriodSeconds = 0;
  auto deleting =
      kube::deleteObject(api_, api::Pod::kType, api::keyOf(pod->metadata), std::move(options));
  auto deleted = co_await deleting;
  if (deleted || deleted.error().code == ErrorCode::NotFound) co_return Result<>{};
  // Conflict: another pod has the name already, and this one is gone.
  if (deleted.error().code == ErrorCode::Conflict) co_return Result<>{};
  co_return fail(std::move(deleted.error()));
}

Task<Result<>> HostNode::report(std::string uid, PodPtr pod, api::PodStatus status) {
  json::value document = statusDocument(status);
  Entry& entry = entries_.at(uid);
  entry.status = std::move(status);
  if (entry.reported == document) co_return Result<>{};
  json::value patch = json::object{{"metadata", {{"uid", uid}}}, {"status", document}};
  auto patching = kube::strategicPatch(api_, api::Pod::kType, api::keyOf(pod->metadata),
                                       std::move(patch), "status");
  auto patched = co_await patching;
  if (patched) {
    entries_.at(uid).reported = std::move(document);
    co_return Result<>{};
  }
  const auto code = patched.error().code;
  if (code == ErrorCode::NotFound || code == ErrorCode::Conflict) co_return Result<>{};
  co_return fail(std::move(patched.error()));
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

// ---- the runtime's view ----

Task<void> HostNode::relistForever() {
  while (!stopped_) {
    auto listing = relist();
    auto listed = co_await listing;
    if (!listed) log::warn("list containers: {}", listed.error().message);
    if (executor_.steadyNow() - lastSweep_ >= options_.orphanPeriod && listed_ && pods_.synced()) {
      lastSweep_ = executor_.steadyNow();
      sweepOrphans();
    }
    auto pause = sleepFor(executor_, options_.relistPeriod);
    co_await pause;
  }
}

Task<Result<>> HostNode::relist() {
  const std::uint64_t number = ++lastList_;
  auto listing = runtime_.list();
  auto listed = co_await listing;
  if (!listed) co_return fail(std::move(listed.error()));
  if (number < appliedList_) co_return Result<>{};  // overtaken by a newer one
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
    const bool differs = entry.containers != containers;
    entry.containers = std::move(containers);
    entry.stale = false;
    if (!entry.containers.empty()) entry.hasCgroup = true;
    // A pod that the API has not told us about yet is not a vanished one.
    if ((differs || first) && (entry.pod || pods_.synced())) changed.push_back(uid);
  }
  for (const auto& uid : changed) touch(uid);
  co_return Result<>{};
}

// Pods whose objects are gone and cgroups without a pod: what a crash at a bad moment leaves.
void HostNode::sweepOrphans() {
  std::vector<std::string> orphans;
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

// ---- the end ----

Task<void> HostNode::shutdown(Duration grace) {
  stopped_ = true;
  auto listing = runtime_.list();
  auto listed = co_await listing;
  if (!listed) co_return;
  const SteadyTime deadline = executor_.steadyNow() + grace;
  // All are asked first, so that they end side by side.
  TaskGroup stops;
  for (const auto& container : *listed)
    if (alive(container)) stops.spawn(stopOne(container.pod.uid, container.id, grace));
  while (stops.size() > 0 && executor_.steadyNow() < deadline + 2s) {
    auto pause = sleepFor(executor_, 10ms);
    co_await pause;
  }
  std::map<std::string, PodRef> pods;
  for (const auto& container : *listed) pods.emplace(container.pod.uid, container.pod);
  // A pod none of whose containers could be started was prepared all the same.
  for (const auto& [uid, entry] : entries_)
    if (entry.hasCgroup) pods.emplace(uid, refOf(uid, entry));
  for (const auto& [uid, pod] : pods) {
    auto removing = runtime_.removePod(pod);
    auto removed = co_await removing;
    if (!removed) log::v(1, "{}", removed.error().message);
  }
  cgroups_.kill(kPodsRoot);
  for (int tries = 0; tries < 100; ++tries) {
    const auto removed = cgroups_.remove(kPodsRoot);
    if (removed) co_return;
    if (tries == 99) log::warn("{}", removed.error().message);
    auto pause = sleepFor(executor_, 20ms);
    co_await pause;
  }
}

// ---- what others ask ----

json::value HostNode::podList() const {
  json::array items;
  for (const auto& [uid, entry] : entries_) {
    if (!entry.pod) continue;
    api::Pod pod = *entry.pod;
    if (entry.status && !api::isTerminal(pod)) {
      const auto scheduled =
          std::ranges::find(pod.status.conditions, "PodScheduled", &api::PodCondition::type);
      api::PodStatus status = *entry.status;
      if (scheduled != pod.status.conditions.end()) status.conditions.push_back(*scheduled);
      pod.status = std::move(status);
    }
    items.push_back(api::encodeObject(pod));
  }
  return json::object{{"kind", "PodList"},
                      {"apiVersion", "v1"},
                      {"metadata", json::object{}},
                      {"items", std::move(items)}};
}

Result<std::string> HostNode::logPath(const api::ObjectKey& pod, const std::string& container,
                                      bool previous) const {
  for (const auto& [uid, entry] : entries_) {
    if (!entry.pod || api::keyOf(entry.pod->metadata) != pod) continue;
    std::vector<const RuntimeContainer*> found;
    for (const auto& candidate : entry.containers)
      if (candidate.name == container) found.push_back(&candidate);
    std::ranges::sort(found, std::ranges::greater{}, &RuntimeContainer::attempt);
    const std::size_t index = previous ? 1 : 0;
    if (found.size() > index) return found[index]->logPath;
    return fail(ErrorCode::BadRequest,
                fmt::format("container \"{}\" in pod \"{}\" has {}", container, pod.name,
                            previous ? "no previous run" : "not started"));
  }
  return fail(ErrorCode::NotFound, fmt::format("pod \"{}\" is not on this node", pod.toString()));
}

bool HostNode::isRunning(const api::ObjectKey& pod, const std::string& container) const {
  for (const auto& [uid, entry] : entries_)
    if (entry.pod && api::keyOf(entry.pod->metadata) == pod)
      for (const auto& candidate : entry.containers)
        if (candidate.name == container && candidate.phase == Phase::Running) return true;
  return false;
}

}  // namespace koord::cluster
