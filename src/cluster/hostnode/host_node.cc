#include "cluster/hostnode/host_node.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "base/log.h"
#include "cluster/hostnode/host_node_parts.h"
#include "cluster/hostnode/pod_cgroups.h"
#include "kube/client.h"
#include "model/well_known.h"

namespace koord::cluster {

using namespace std::chrono_literals;

namespace {

constexpr Duration kRetry = 1s;
constexpr Duration kBusyRetry = 50ms;

// The patch of a status: with zeros that readers of container statuses expect, and without old
// members of conditions.
json::value statusDocument(const api::PodStatus& status,
                           const std::vector<api::ContainerStatus>& ephemeral) {
  json::value document = api::encode(status);
  if (!ephemeral.empty()) {
    json::array statuses;
    for (const auto& container : ephemeral) statuses.push_back(api::encode(container));
    document.get_object()["ephemeralContainerStatuses"] = std::move(statuses);
  }
  if (auto* conditions = find(document, "conditions"))
    for (auto& condition : conditions->get_array())
      for (const char* text : {"reason", "message"})
        if (!find(condition, text)) condition.get_object()[text] = nullptr;
  for (const char* list :
       {"initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses"}) {
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

// Returns true if another client has written to the status since: for example the node lifecycle
// controller, which makes pods of an unreachable node unready.
bool wasOverwritten(const api::PodStatus& ours, const api::PodStatus& there) {
  if (there.phase != ours.phase) return true;
  return std::ranges::any_of(ours.conditions, [&](const api::PodCondition& condition) {
    const auto found =
        std::ranges::find(there.conditions, condition.type, &api::PodCondition::type);
    return found == there.conditions.end() || found->status != condition.status;
  });
}

}  // namespace

HostNode::HostNode(kube::Api& api, Executor& executor, Runtime& runtime, Cgroups& cgroups,
                   Random random, HostNodeOptions options, HostNodeServices services)
    : api_(api),
      executor_(executor),
      runtime_(runtime),
      cgroups_(cgroups),
      options_(std::move(options)),
      events_(api, executor, "kubelet", random.fork()),
      registration_(api, executor, options_.node),
      worker_(services.worker),
      readSignals_(std::move(services.readSignals)),
      pods_(api, executor, kube::WatchScope{"", "", "spec.nodeName=" + options_.node.name},
            random.fork()),
      http_(services.http),
      volumes_(api, executor, services.worker, random.fork(),
               {options_.podsDir, options_.node.ip, options_.node.allocatable,
                runtime.resolvesSubPaths()},
               {[this](const std::string& uid) {
                  if (const auto entry = entries_.find(uid); entry != entries_.end())
                    entry->second.volumesDue = true;
                  touch(uid);
                },
                [this](const HostPod& pod, const std::string& message) {
                  events_.record(kube::referenceTo(api::Pod::kType, pod.metadata), "Warning",
                                 "FailedMount", message);
                }}),
      prober_(executor,
              {services.http,
               [this](std::string id, std::vector<std::string> command, Duration timeout) {
                 return runInContainer(runtime_, std::move(id), std::move(command), timeout);
               },
               std::move(services.grpc)}),
      probes_(executor, prober_, random.fork(),
              {[this](const std::string& uid) { touch(uid); },
               [this](const std::string& uid, const std::string& container, const char* reason,
                      std::string message) {
                 const auto entry = entries_.find(uid);
                 if (entry != entries_.end() && entry->second.pod)
                   events_.record(containerOf(*entry->second.pod, container), "Warning", reason,
                                  std::move(message));
               },
               [this](const std::string& uid, const std::string& id, ProbeKind kind,
                      const spec::Probe& probe) { killUnhealthy(uid, id, kind, probe); }}) {
  pods_.addHandler({[this](const auto& pod) { seen(pod); },
                    [this](const auto&, const auto& pod) { seen(pod); },
                    [this](const auto& pod) { vanished(pod); }});
}

HostNode::~HostNode() {
  for (auto& [uid, entry] : entries_)
    if (entry.timer != 0) executor_.cancel(entry.timer);
}

void HostNode::setServices(ServiceAccess services) {
  services_ = std::move(services);
  volumes_.setDns(services_.dnsAddress);
}

void HostNode::start() {
  updateQosCgroups();
  registration_.start();
  tasks_.spawn(relistForever());
  if (readSignals_) tasks_.spawn(watchPressures());
  pods_.start();
}

// ---- pods ----

void HostNode::seen(const PodPtr& pod) {
  Entry& entry = entries_[pod->metadata.uid];
  // The downward API exposes labels and annotations.
  if (entry.pod && (entry.pod->metadata.labels != pod->metadata.labels ||
                    entry.pod->metadata.annotations != pod->metadata.annotations))
    entry.volumesDue = true;
  if (entry.status && wasOverwritten(*entry.status, pod->status)) entry.reported = nullptr;
  entry.pod = pod;
  touch(pod->metadata.uid);
}

void HostNode::vanished(const PodPtr& pod) {
  const auto entry = entries_.find(pod->metadata.uid);
  if (entry == entries_.end()) return;
  entry->second.pod = nullptr;
  touch(pod->metadata.uid);
}

void HostNode::touch(const std::string& uid) {
  // Before the first list of the runtime a running pod would be started again.
  if (!listed_ || stopped_) return;
  const auto found = entries_.find(uid);
  if (found == entries_.end()) return;
  Entry& entry = found->second;
  entry.dirty = true;
  if (entry.working) return;
  entry.working = true;
  tasks_.spawn(work(uid));
}

void HostNode::enqueueAfter(const std::string& uid, Duration delay) {
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
  // Entries are erased only here, when no other task uses them.
  while (!stopped_) {
    Entry& entry = entries_.at(uid);
    if (!entry.dirty) break;
    entry.dirty = false;
    auto syncing = sync(uid);
    auto done = co_await syncing;
    if (!done) {
      const bool busy = done.error().code == ErrorCode::Conflict;
      if (!busy) log::warn("pod {}: {}", uid, done.error().message);
      enqueueAfter(uid, busy ? kBusyRetry : kRetry);
    }
  }
  Entry& entry = entries_.at(uid);
  entry.working = false;
  const bool isEmpty = entry.containers.empty() && !entry.hasCgroup && !entry.hasVolumes;
  if (!entry.pod && isEmpty && !entry.dirty) {
    if (entry.timer != 0) executor_.cancel(entry.timer);
    entries_.erase(uid);
    updateQosCgroups();
  }
}

Task<Result<>> HostNode::sync(std::string uid) {
  const PodPtr pod = entries_.at(uid).pod;
  if (!pod) {
    auto down = terminatePod(uid, 0s);
    co_return co_await down;
  }
  if (pod->metadata.deletionTimestamp) {
    auto ending = endPod(uid, pod);
    co_return co_await ending;
  }
  if (api::isTerminal(*pod)) {
    auto resting = restPod(uid, pod);
    co_return co_await resting;
  }
  auto running = runPod(uid, pod);
  co_return co_await running;
}

// Ends a pod that is being deleted.
Task<Result<>> HostNode::endPod(std::string uid, PodPtr pod) {
  probes_.stopKilling(uid);
  const Duration left = *pod->metadata.deletionTimestamp - executor_.wallNow();
  auto down = terminatePod(uid, std::max<Duration>(left, 0s));
  auto done = co_await down;
  const Entry& after = entries_.at(uid);
  if (!done || !after.containers.empty() || after.hasCgroup) co_return done;
  // Controllers that hold the pod with a finalizer must see that it has ended.
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

// Cleans up after an ended pod: keeps the containers' records for their logs, removes cgroup and
// volumes.
Task<Result<>> HostNode::restPod(std::string uid, PodPtr pod) {
  if (std::ranges::any_of(entries_.at(uid).containers, alive)) {
    stopSequentially(uid, *pod, graceOf(*pod));
    co_return Result<>{};
  }
  probes_.forget(uid);
  if (entries_.at(uid).hasVolumes) {
    auto clearing = volumes_.tearDown(uid);
    auto cleared = co_await clearing;
    if (!cleared) co_return cleared;
    entries_.at(uid).hasVolumes = false;
  }
  if (!entries_.at(uid).hasCgroup) co_return Result<>{};
  auto releasing = runtime_.releasePod(refOf(uid, entries_.at(uid)));
  auto released = co_await releasing;
  if (!released) co_return released;
  if (auto gone = cgroups_.remove(podCgroup(*pod)); !gone) co_return gone;
  entries_.at(uid).hasCgroup = false;
  updateQosCgroups();
  co_return Result<>{};
}

PodPlan HostNode::plan(const Entry& entry) const {
  std::map<std::string, api::ContainerStateWaiting> failures;
  for (const auto& [name, failure] : entry.startFailures) failures[name] = failure.state;
  PodObservation seen{entry.pod, entry.containers, failures, executor_.wallNow(), options_.node.ip};
  seen.health = [this](const std::string& id) { return probes_.healthOf(id); };
  seen.settingUp = entry.settingUp;
  seen.unhealthy = entry.unhealthy;
  seen.waitsFor = entry.waitsFor;
  seen.lastGoodRun = entry.lastGoodRun;
  return planPod(seen);
}

Task<Result<>> HostNode::runPod(std::string uid, PodPtr pod) {
  if (auto refusal = podRefusal(*pod)) {
    auto refusing = refuse(uid, pod, *std::move(refusal));
    co_return co_await refusing;
  }
  if (entries_.at(uid).stale) {
    // A plan from an old list would start a second container.
    auto listing = relist();
    auto listed = co_await listing;
    if (!listed) co_return listed;
  }
  if (!entries_.at(uid).pod) co_return Result<>{};  // deleted meanwhile, and marked dirty
  watchHealth(uid, entries_.at(uid));
  PodPlan next = plan(entries_.at(uid));
  entries_.at(uid).lastGoodRun = next.lastGoodRun;
  if (!next.stops.empty()) stopSequentially(uid, *pod, graceOf(*pod));
  for (const auto& id : next.forget) {
    auto removing = runtime_.removeContainer(id);
    auto removed = co_await removing;
    if (!removed) log::v(2, "{}", removed.error().message);
    for (auto* ids : {&entries_.at(uid).unhealthy, &entries_.at(uid).preStopStarted})
      ids->erase(id);
    entries_.at(uid).terminationMessages.erase(id);
    entries_.at(uid).stopping.erase(id);
  }
  if (!next.starts.empty() || !entries_.at(uid).containers.empty()) {
    auto preparing = prepareVolumes(uid, next.pod);
    co_await preparing;
    const PodPtr& now = entries_.at(uid).pod;
    if (!now || now->metadata.deletionTimestamp) co_return Result<>{};  // and marked dirty
  }
  if (mayStart(entries_.at(uid), next)) {
    auto starting = startContainers(uid, next);
    auto started = co_await starting;
    if (!started) co_return started;
    auto listing = relist();
    auto listed = co_await listing;
    if (!listed) co_return listed;
  }
  const Entry& entry = entries_.at(uid);
  if (entry.pod != next.pod) co_return Result<>{};  // changed meanwhile, and marked dirty
  watchHealth(uid, entry);
  const auto sooner = next.wakeAt;
  const auto refresh = entry.volumeFailures > 0 ? std::nullopt : volumes_.refreshAt(uid);
  next = plan(entry);
  for (const auto& due : {sooner, refresh})
    if (due && (!next.wakeAt || *due < *next.wakeAt)) next.wakeAt = due;
  if (next.wakeAt)
    enqueueAfter(uid, std::max<Duration>(*next.wakeAt - executor_.wallNow(), 0s) + 1ms);
  auto reporting = report(uid, pod, std::move(next.status), std::move(next.ephemeralStatuses));
  co_return co_await reporting;
}

// Rejects a pod that this node does not admit.
Task<Result<>> HostNode::refuse(std::string uid, PodPtr pod, PodRefusal refusal) {
  events_.record(kube::referenceTo(api::Pod::kType, pod->metadata), "Warning", refusal.reason,
                 refusal.message);
  api::PodStatus status;
  status.phase = "Failed";
  status.reason = refusal.reason;
  status.message = refusal.message;
  status.startTime = executor_.wallNow();
  auto reporting = report(uid, pod, std::move(status), {});
  co_return co_await reporting;
}

// One step of removing a pod from this host: first the processes, then the records, then volumes
// and cgroups. Called again after each step.
Task<Result<>> HostNode::terminatePod(std::string uid, Duration grace) {
  const PodPtr known = entries_.at(uid).pod;
  const bool patient = known && known->metadata.deletionGracePeriodSeconds.value_or(0) > 0;
  const auto containers = entries_.at(uid).containers;  // a copy: stopping changes the entry
  if (std::ranges::any_of(containers, alive)) {
    if (patient) {
      stopSequentially(uid, *known, grace);
    } else {
      for (const auto& container : containers)
        if (alive(container)) stop(uid, container.id, grace);
    }
    co_return Result<>{};
  }
  probes_.forget(uid);
  const PodRef pod = refOf(uid, entries_.at(uid));
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
  auto clearing = volumes_.tearDown(uid);
  auto cleared = co_await clearing;
  if (!cleared) co_return cleared;
  entries_.at(uid).hasVolumes = false;
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

Task<Result<>> HostNode::report(std::string uid, PodPtr pod, api::PodStatus status,
                                std::vector<api::ContainerStatus> ephemeral) {
  json::value document = statusDocument(status, ephemeral);
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

}  // namespace koord::cluster
