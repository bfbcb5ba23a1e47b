#include "cluster/controllers/node_lifecycle.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "base/time.h"
#include "cluster/controllers/deadline.h"
#include "cluster/controllers/pod_control.h"
#include "kube/client.h"

// There are two queues. Nodes: a stateless rule (conditionTaints) converts the conditions of a node
// to taints; a node whose lease was not renewed for kGracePeriod gets the conditions Unknown first.
// The time of a renewal is when this host saw it, by its own clock, not the time in the lease, so
// clocks of nodes may be wrong. After a start every lease counts as just renewed, and also after a
// time in which this program did not run (the host was suspended, the process stopped, its loop
// blocked): a suspended controller must not declare a whole cluster dead.
//
// The NoExecute taint of a node that is not ready waits for the rate limit of its zone. If no node
// of the cluster is ready, all such taints are removed.
//
// Pods: a pod on a node with NoExecute taints is evicted at the earliest time that its tolerations
// allow: at once for a taint that it does not tolerate, after the shortest tolerationSeconds for
// the others. The time is recomputed whenever the pod or the node changes, so a taint that is
// removed in time saves the pod.
//
// Cost: O(taints * tolerations) per pod of a node whose NoExecute taints change, and nothing for
// others.
// Rules: the node lifecycle and taint eviction controllers of kube-controller-manager.

namespace koord::cluster {

using namespace std::chrono_literals;

namespace {

constexpr Duration kGracePeriod = 50s;  // without a renewal
constexpr Duration kHeartbeatPeriod = 5s;
constexpr Duration kPausedAfter = 20s;  // without a beat
constexpr const char* kNoSchedule = "NoSchedule";
constexpr const char* kNoExecute = "NoExecute";

struct ConditionTaint {
  const char* condition;
  const char* taint;
};
constexpr ConditionTaint kPressure[] = {
    {"MemoryPressure", "node.kubernetes.io/memory-pressure"},
    {"DiskPressure", "node.kubernetes.io/disk-pressure"},
    {"PIDPressure", "node.kubernetes.io/pid-pressure"},
    {"NetworkUnavailable", "node.kubernetes.io/network-unavailable"},
};
constexpr const char* kNotReady = "node.kubernetes.io/not-ready";
constexpr const char* kUnreachable = "node.kubernetes.io/unreachable";
constexpr const char* kUnschedulable = "node.kubernetes.io/unschedulable";

bool isOurs(const api::Taint& taint) {
  if (taint.key == kNotReady || taint.key == kUnreachable || taint.key == kUnschedulable)
    return true;
  return std::ranges::any_of(kPressure, [&](const auto& row) { return taint.key == row.taint; });
}

bool same(const api::Taint& a, const api::Taint& b) {
  return a.key == b.key && a.effect == b.effect;
}

std::string statusOf(const api::Node& node, std::string_view type) {
  for (const auto& condition : node.status.conditions)
    if (condition.type == type) return condition.status.str();
  return {};
}

json::object conditionJson(const char* type, const char* status, const char* reason,
                           const char* message, WallTime now) {
  return {{"type", type},
          {"status", status},
          {"reason", reason},
          {"message", message},
          {"lastTransitionTime", formatTime(now)}};
}

// When the pod was bound to its node; the epoch if unknown.
WallTime arrivalOf(const api::Pod& pod) {
  WallTime arrived = pod.metadata.creationTimestamp.value_or(WallTime{});
  for (const auto& condition : pod.status.conditions)
    if (condition.type == "PodScheduled" && condition.status == "True")
      arrived = std::max(arrived, condition.lastTransitionTime.value_or(WallTime{}));
  return arrived;
}

bool mayBeDeleted(const Error& error) {
  return error.code == ErrorCode::NotFound || error.code == ErrorCode::Conflict;
}

}  // namespace

bool sameTaints(const api::Node& a, const api::Node& b) {
  return std::ranges::equal(a.spec.taints, b.spec.taints, [](const auto& x, const auto& y) {
    return same(x, y) && x.value == y.value && x.timeAdded == y.timeAdded;
  });
}

bool tolerates(const api::Toleration& toleration, const api::Taint& taint) {
  if (!toleration.effect.empty() && toleration.effect != taint.effect) return false;
  if (!toleration.key.empty() && toleration.key != taint.key) return false;
  if (toleration.operator_ == "Exists") return true;
  return !toleration.key.empty() && toleration.value == taint.value;
}

api::List<api::Taint> conditionTaints(const api::Node& node) {
  api::List<api::Taint> taints;
  const auto add = [&](const char* key, const char* effect) {
    taints.push_back({key, "", effect, std::nullopt});
  };
  const std::string ready = statusOf(node, "Ready");
  if (ready == "False" || ready == "Unknown") {
    const char* key = ready == "False" ? kNotReady : kUnreachable;
    add(key, kNoSchedule);
    add(key, kNoExecute);
  }
  for (const auto& row : kPressure)
    if (statusOf(node, row.condition) == "True") add(row.taint, kNoSchedule);
  if (node.spec.unschedulable) add(kUnschedulable, kNoSchedule);
  return taints;
}

std::optional<WallTime> evictionTime(const api::Pod& pod, const api::List<api::Taint>& taints,
                                     WallTime seen) {
  const WallTime arrived = arrivalOf(pod);
  std::optional<WallTime> leave;
  const auto by = [&](WallTime when) { leave = leave ? std::min(*leave, when) : when; };
  for (const auto& taint : taints) {
    if (taint.effect != kNoExecute) continue;
    // A pod that arrived after the taint gets its whole toleration time.
    const WallTime since = std::max<WallTime>(taint.timeAdded.value_or(seen), arrived);
    bool tolerated = false;
    std::optional<std::int64_t> seconds;
    for (const auto& toleration : pod.spec.tolerations) {
      if (!tolerates(toleration, taint)) continue;
      tolerated = true;
      if (toleration.tolerationSeconds)
        seconds = std::min(seconds.value_or(*toleration.tolerationSeconds),
                           *toleration.tolerationSeconds);
    }
    if (!tolerated) by(seen);
    if (!seconds) continue;
    if (const WallTime end = secondsAfter(since, *seconds); end < WallTime::max()) by(end);
  }
  return leave;
}

NodeLifecycleController::NodeLifecycleController(kube::Api& api, Executor& executor,
                                                 kube::Informer<api::Node>& nodes,
                                                 kube::Informer<api::Lease>& leases,
                                                 kube::Informer<api::Pod>& pods,
                                                 kube::EventRecorder& events)
    : api_(api),
      executor_(executor),
      nodes_(nodes),
      leases_(leases),
      pods_(pods),
      podsByNode_(pods, nodeOfPod),
      events_(events),
      nodeQueue_(executor, "node-lifecycle",
                 [this](std::string name) { return syncNode(std::move(name)); }),
      podQueue_(executor, "taint-eviction",
                [this](std::string key) { return syncPod(std::move(key)); }) {}

void NodeLifecycleController::start() {
  nodes_.addHandler({[this](const NodePtr& node) {
                       nodeCounted(nullptr, node.get());
                       nodeSeen(node, true);
                     },
                     [this](const NodePtr& before, const NodePtr& node) {
                       nodeCounted(before.get(), node.get());
                       nodeSeen(node, !sameTaints(*before, *node));
                     },
                     [this](const NodePtr& node) { nodeCounted(node.get(), nullptr); }});
  const auto renewed = [this](const auto& lease) {
    renewed_[lease->metadata.name] = executor_.steadyNow();
    nodeQueue_.add(lease->metadata.name);
  };
  leases_.addHandler({renewed, [renewed](const auto&, const auto& lease) { renewed(lease); },
                      [this](const auto& lease) { renewed_.erase(lease->metadata.name); }});
  pods_.addHandler({[this](const PodPtr& pod) { onPod(pod); },
                    [this](const auto&, const PodPtr& pod) { onPod(pod); },
                    [this](const PodPtr& pod) { evictionSeen_.erase(pod->metadata.uid); }});
  nodes_.onSynced([this] {
    for (const auto& node : nodes_.objects()) nodeQueue_.add(node->metadata.name);
  });
  nodeQueue_.start();
  podQueue_.start();
  tasks_.spawn(heartbeat());
}

Task<void> NodeLifecycleController::heartbeat() {
  while (true) {
    if (!wasPaused()) lastHeartbeat_ = executor_.steadyNow();
    auto pause = sleepFor(executor_, kHeartbeatPeriod);
    co_await pause;
  }
}

bool NodeLifecycleController::wasPaused() {
  const SteadyTime now = executor_.steadyNow();
  const bool away = now - lastHeartbeat_ > kPausedAfter;
  if (!away) return false;
  for (auto& [name, when] : renewed_) when = now;
  lastHeartbeat_ = now;
  return true;
}

void NodeLifecycleController::nodeSeen(const NodePtr& node, bool taintsChanged) {
  nodeQueue_.add(node->metadata.name);
  if (!taintsChanged) return;
  const bool evicting = std::ranges::any_of(
      node->spec.taints, [](const auto& taint) { return taint.effect == kNoExecute; });
  if (!evicting && evictionSeen_.empty()) return;  // waiting pods check again themselves
  for (const auto& pod : podsByNode_.of(node->metadata.name)) {
    if (!evicting) evictionSeen_.erase(pod->metadata.uid);
    if (evicting) podQueue_.add(api::keyOf(pod->metadata).toString());
  }
}

void NodeLifecycleController::nodeCounted(const api::Node* before, const api::Node* after) {
  const bool hadFailed = zones_.allFail();
  zones_.count(before, after);
  if (zones_.allFail() == hadFailed) return;
  // Nodes that were unreachable together with all others get time to renew their leases.
  if (hadFailed)
    for (auto& [name, when] : renewed_) when = executor_.steadyNow();
  for (const auto& node : nodes_.objects()) nodeQueue_.add(node->metadata.name);
}

void NodeLifecycleController::onPod(const PodPtr& pod) {
  if (pod->spec.nodeName.empty() || pod->metadata.deletionTimestamp) return;
  const auto node = nodes_.get({"", pod->spec.nodeName});
  if (node && evictionTime(*pod, node->spec.taints, executor_.wallNow()))
    podQueue_.add(api::keyOf(pod->metadata).toString());
}

Task<Result<>> NodeLifecycleController::syncNode(std::string name) {
  const NodePtr node = nodes_.get({"", name});
  if (!node || node->metadata.deletionTimestamp) co_return Result<>{};
  const auto renewed = renewed_.find(name);
  if (renewed != renewed_.end() && !statusOf(*node, "Ready").empty()) {
    const Duration left = renewed->second + kGracePeriod - executor_.steadyNow();
    if (left > Duration::zero()) {
      nodeQueue_.addAfter(name, left);
    } else if (wasPaused()) {
      nodeQueue_.addAfter(name, kGracePeriod);
    } else if (statusOf(*node, "Ready") != "Unknown") {
      auto setting = setUnreachable(node);
      co_return co_await setting;
    }
  }
  auto setting = setTaints(node);
  co_return co_await setting;
}

api::List<api::Taint> NodeLifecycleController::taintsWithinRate(const api::Node& node) {
  auto wanted = conditionTaints(node);
  const auto evicts = [](const api::Taint& taint) {
    return taint.effect == kNoExecute && (taint.key == kNotReady || taint.key == kUnreachable);
  };
  if (std::ranges::none_of(wanted, evicts)) return wanted;
  // A change from one of the two to the other happens at once.
  const bool evicting = std::ranges::any_of(node.spec.taints, evicts);
  if (evicting && !zones_.allFail()) return wanted;
  if (const auto wait = zones_.waitFor(node, executor_.steadyNow())) {
    nodeQueue_.addAfter(node.metadata.name, *wait);
    erase_if(wanted, evicts);
  }
  return wanted;
}

Task<Result<>> NodeLifecycleController::setTaints(NodePtr node) {
  if (!nodes_.synced()) co_return Result<>{};  // its zone is not known yet
  const WallTime now = executor_.wallNow();
  api::List<api::Taint> taints;
  const auto wanted = taintsWithinRate(*node);
  const auto isIn = [](const api::List<api::Taint>& list, const api::Taint& taint) {
    return std::ranges::any_of(list, [&](const auto& other) { return same(other, taint); });
  };
  for (const auto& taint : node->spec.taints)
    if (!isOurs(taint) || isIn(wanted, taint)) taints.push_back(taint);
  const bool removed = taints.size() != node->spec.taints.size();
  bool added = false;
  for (auto taint : wanted) {
    if (isIn(taints, taint)) continue;
    taint.timeAdded = now;
    taints.push_back(std::move(taint));
    added = true;
  }
  if (!removed && !added) co_return Result<>{};
  json::array list;
  for (const auto& taint : taints) {
    json::object one{{"key", taint.key}, {"effect", taint.effect}};
    if (!taint.value.empty()) one["value"] = taint.value;
    if (taint.timeAdded) one["timeAdded"] = formatTime(*taint.timeAdded);
    list.push_back(std::move(one));
  }
  json::value patch =
      json::object{{"metadata", {{"resourceVersion", node->metadata.resourceVersion}}},
                   {"spec", {{"taints", list.empty() ? json::value() : json::value(list)}}}};
  auto patching =
      kube::mergePatch(api_, api::Node::kType, api::keyOf(node->metadata), std::move(patch));
  auto patched = co_await patching;
  // After a conflict the event of the newer version enqueues the node again.
  if (patched || mayBeDeleted(patched.error())) co_return Result<>{};
  co_return fail(std::move(patched.error()));
}

Task<Result<>> NodeLifecycleController::setUnreachable(NodePtr node) {
  const WallTime now = executor_.wallNow();
  json::array conditions;
  for (const char* type : {"Ready", "MemoryPressure", "DiskPressure", "PIDPressure"})
    if (!statusOf(*node, type).empty())
      conditions.push_back(conditionJson(type, "Unknown", "NodeStatusUnknown",
                                         "Kubelet stopped posting node status.", now));
  json::value patch = json::object{{"status", {{"conditions", std::move(conditions)}}}};
  auto patching = kube::strategicPatch(api_, api::Node::kType, api::keyOf(node->metadata),
                                       std::move(patch), "status");
  auto patched = co_await patching;
  if (!patched && !mayBeDeleted(patched.error())) co_return fail(std::move(patched.error()));
  events_.record(kube::referenceTo(api::Node::kType, node->metadata), "Normal", "NodeNotReady",
                 fmt::format("Node {} status is now: NodeNotReady", node->metadata.name));
  auto pods = podsByNode_.of(node->metadata.name);
  std::erase_if(pods, [](const auto& pod) { return !isReady(*pod); });
  for (const auto& pod : pods) {
    json::value notReady = json::object{
        {"metadata", {{"uid", pod->metadata.uid}}},
        {"status",
         {{"conditions", json::array{json::object{{"type", "Ready"},
                                                  {"status", "False"},
                                                  {"lastTransitionTime", formatTime(now)}}}}}}};
    auto marking = kube::strategicPatch(api_, api::Pod::kType, api::keyOf(pod->metadata),
                                        std::move(notReady), "status");
    auto marked = co_await marking;
    if (!marked && !mayBeDeleted(marked.error())) co_return fail(std::move(marked.error()));
  }
  co_return Result<>{};
}

Task<Result<>> NodeLifecycleController::syncPod(std::string key) {
  const PodPtr pod = pods_.get(keyOfText(key));
  if (!pod || pod->metadata.deletionTimestamp) co_return Result<>{};
  const auto node = nodes_.get({"", pod->spec.nodeName});
  if (!node) co_return Result<>{};
  const WallTime now = executor_.wallNow();
  const WallTime seen = evictionSeen_.try_emplace(pod->metadata.uid, now).first->second;
  const auto leave = evictionTime(*pod, node->spec.taints, seen);
  if (!leave) {
    evictionSeen_.erase(pod->metadata.uid);
    co_return Result<>{};
  }
  if (*leave > now) {
    podQueue_.addAfter(key, *leave - now);
    co_return Result<>{};
  }
  events_.record(kube::referenceTo(api::Pod::kType, pod->metadata), "Normal",
                 "TaintManagerEviction", fmt::format("Marking for deletion Pod {}", key));
  json::value patch = json::object{
      {"metadata", {{"uid", pod->metadata.uid}}},
      {"status",
       {{"conditions",
         json::array{conditionJson("DisruptionTarget", "True", "DeletionByTaintManager",
                                   "Taint manager: deleting due to NoExecute taint", now)}}}}};
  auto marking = kube::strategicPatch(api_, api::Pod::kType, api::keyOf(pod->metadata),
                                      std::move(patch), "status");
  auto marked = co_await marking;
  if (!marked && !mayBeDeleted(marked.error())) co_return fail(std::move(marked.error()));
  kube::DeleteOptions options;
  options.uid = pod->metadata.uid;
  auto deleting =
      kube::deleteObject(api_, api::Pod::kType, api::keyOf(pod->metadata), std::move(options));
  auto deleted = co_await deleting;
  if (deleted || mayBeDeleted(deleted.error())) co_return Result<>{};
  co_return deleted;
}

}  // namespace koord::cluster
