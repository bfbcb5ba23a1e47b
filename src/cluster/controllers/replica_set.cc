#include "cluster/controllers/replica_set.h"

#include <algorithm>
#include <boost/json/object.hpp>

#include "cluster/controllers/conditions.h"
#include "cluster/controllers/pod_order.h"
#include "kube/client.h"

namespace koord::cluster {

namespace {

// ReplicaFailure is set at the first failure, keeps its message, and is removed by the next
// success.
void setFailure(std::vector<api::WorkloadCondition>& conditions, const Result<>& done,
                const char* reason, WallTime now) {
  const auto before = std::ranges::find(conditions, kReplicaFailure, &api::WorkloadCondition::type);
  const bool had = before != conditions.end();
  if (done && had) conditions.erase(before);
  if (!done && !had)
    conditions.push_back(
        {kReplicaFailure, "True", {}, wholeSeconds(now), reason, done.error().message});
}

}  // namespace

ReplicaSetController::ReplicaSetController(kube::Api& api, Executor& executor,
                                           kube::Informer<api::ReplicaSet>& sets, PodControl& pods)
    : api_(api),
      executor_(executor),
      sets_(sets),
      pods_(pods),
      queue_(
          executor, "replicaset", [this](std::string key) { return sync(std::move(key)); },
          kConcurrentSyncs) {
  enqueueChanged(sets_, queue_);
  enqueueControllersOf(pods_.informer(), sets_, queue_);
}

Task<Result<>> ReplicaSetController::sync(std::string key) {
  const SetPtr set = sets_.get(keyOfText(key));
  if (!set) co_return Result<>{};
  const Owner owner{api::ReplicaSet::kType, set->metadata};
  // Checked first: pods that arrive during the claims are not in the list.
  const bool settled = pods_.settled(set->metadata.uid);
  auto claiming = pods_.claim(owner, set->spec.selector);
  auto claimed = co_await claiming;
  Result<> done;
  auto conditions = set->status.conditions;
  if (!claimed) {
    done = fail(std::move(claimed.error()));
  } else if (set->metadata.deletionTimestamp) {
    conditions.clear();
  } else if (settled) {
    std::vector<PodPtr> active = *std::move(claimed);
    std::erase_if(active, [](const auto& pod) { return !isActive(*pod); });
    const bool tooMany = static_cast<int>(active.size()) > set->spec.replicas.value_or(1);
    auto managing = manage(set, std::move(active));
    done = co_await managing;
    const char* reason = tooMany ? "FailedDelete" : "FailedCreate";
    setFailure(conditions, done, reason, executor_.wallNow());
  }
  auto reporting = report(set, std::move(conditions));
  auto reported = co_await reporting;
  co_return done ? reported : done;
}

// The pods of all sets of this set's controller.
std::vector<PodPtr> ReplicaSetController::podsOfDeployment(const api::ReplicaSet& set) const {
  const auto* owner = api::controllerOf(set.metadata);
  std::vector<PodPtr> pods = pods_.podsOf(set.metadata.uid);
  if (!owner) return pods;
  for (const auto& other : sets_.objects()) {
    const auto* its = api::controllerOf(other->metadata);
    if (!its || its->uid != owner->uid || other->metadata.uid == set.metadata.uid) continue;
    std::ranges::move(pods_.podsOf(other->metadata.uid), std::back_inserter(pods));
  }
  return pods;
}

Task<Result<>> ReplicaSetController::manage(SetPtr set, std::vector<PodPtr> active) {
  const Owner owner{api::ReplicaSet::kType, set->metadata};
  const int have = static_cast<int>(active.size());
  const int wanted = set->spec.replicas.value_or(1);
  if (have < wanted) {
    const auto missing = static_cast<std::size_t>(std::min(wanted - have, kBurst));
    auto creating =
        pods_.createMany(owner, std::vector<NewPod>(missing, NewPod{set->spec.template_}));
    co_return co_await creating;
  }
  if (have == wanted) co_return Result<>{};
  sortForScaleDown(active, podsOfDeployment(*set), executor_.wallNow());
  active.resize(static_cast<std::size_t>(std::min(have - wanted, kBurst)));
  auto removing = pods_.removeMany(owner, std::move(active));
  co_return co_await removing;
}

Task<Result<>> ReplicaSetController::report(SetPtr set,
                                            std::vector<api::WorkloadCondition> conditions) {
  api::ReplicaSetStatus status;
  std::optional<Duration> recheck;
  for (const auto& pod : pods_.podsOf(set->metadata.uid)) {
    if (!isActive(*pod)) continue;
    ++status.replicas;
    ++status.fullyLabeledReplicas;
    const auto wait = timeUntilAvailable(*pod, set->spec.minReadySeconds, executor_.wallNow());
    if (!wait) continue;
    ++status.readyReplicas;
    if (*wait <= Duration::zero()) {
      ++status.availableReplicas;
    } else {
      recheck = std::min(recheck.value_or(*wait), *wait);
    }
  }
  if (recheck) queue_.addAfter(api::keyOf(set->metadata).toString(), *recheck);
  status.observedGeneration = set->metadata.generation;
  status.conditions = std::move(conditions);
  if (status == set->status) co_return Result<>{};
  // A merge patch does not change absent members, so zeros are written.
  json::value document = json::object{{"replicas", status.replicas},
                                      {"fullyLabeledReplicas", status.fullyLabeledReplicas},
                                      {"readyReplicas", status.readyReplicas},
                                      {"availableReplicas", status.availableReplicas},
                                      {"observedGeneration", status.observedGeneration},
                                      {"conditions", conditionsJson(status.conditions)}};
  auto writing = writeStatus(api_, {api::ReplicaSet::kType, set->metadata}, std::move(document));
  co_return co_await writing;
}

}  // namespace koord::cluster
