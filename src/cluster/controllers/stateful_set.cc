#include "cluster/controllers/stateful_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <charconv>

#include "kube/client.h"

// One sync does the first applicable step (OrderedReady; with Parallel the steps of a phase are
// done together):
//   1. upwards from the first ordinal: create the first missing pod, replace an ended pod, create
//      the missing claims of a pending pod, or wait for a pod that is not available or is being
//      deleted;
//   2. downwards from the last: delete pods whose ordinal is beyond the size;
//   3. downwards from the last to the partition: delete the first pod of an older revision, or wait
//      for a pod that is not available.
// Step 1 of a later sync re-creates a deleted pod, below the partition with the old template. So at
// most one pod is missing at any time, and a rollout goes from the last pod to the first.
//
// currentRevision is the template of the pods that have not been updated, updateRevision that of
// the current set; they become the same when all pods are updated and ready. Both are
// ControllerRevisions, so that the old template still exists when a pod below the partition must be
// created again.
//
// Cost: O(pods of the set) per sync. Rules: the statefulset controller of kube-controller-manager.

namespace koord::cluster {

namespace {

constexpr const char* kRevisionLabel = "controller-revision-hash";
constexpr Duration kClaimPoll = std::chrono::seconds(1);

// The number at the end of the name; -1 for other names.
int ordinalOf(const api::Pod& pod, const std::string& setName) {
  const std::string& name = pod.metadata.name;
  if (!name.starts_with(setName + "-")) return -1;
  int ordinal = -1;
  const char* from = name.data() + setName.size() + 1;
  const auto [end, error] = std::from_chars(from, name.data() + name.size(), ordinal);
  return error == std::errc{} && end == name.data() + name.size() ? ordinal : -1;
}

int firstOrdinal(const api::StatefulSet& set) {
  return set.spec.ordinals ? set.spec.ordinals->start : 0;
}

std::string revisionOf(const api::Pod& pod) {
  const auto* label = api::findIn(pod.metadata.labels, kRevisionLabel);
  return label ? *label : "";
}

// Pods of lower ordinals keep their template.
int partitionOf(const api::StatefulSet& set) {
  const auto& rolling = set.spec.updateStrategy.rollingUpdate;
  return firstOrdinal(set) + (rolling ? rolling->partition.value_or(0) : 0);
}

bool rollsOut(const api::StatefulSet& set) {
  return set.spec.updateStrategy.type != "OnDelete";
}

}  // namespace

StatefulSetController::StatefulSetController(kube::Api& api, Executor& executor,
                                             kube::Informer<api::StatefulSet>& sets,
                                             kube::Informer<api::ControllerRevision>& revisions,
                                             kube::Informer<api::PersistentVolumeClaim>& claims,
                                             PodControl& pods)
    : api_(api),
      executor_(executor),
      sets_(sets),
      pods_(pods),
      claims_(api, claims),
      history_(api, revisions, "controller.kubernetes.io/hash"),
      queue_(
          executor, "statefulset", [this](std::string key) { return sync(std::move(key)); },
          kConcurrentSyncs) {
  enqueueChanged(sets_, queue_);
  enqueueControllersOf(pods_.informer(), sets_, queue_);
  enqueueControllersOf(revisions, sets_, queue_);
  // A pod that waits for its claim has no event when the claim is deleted.
  claims.addHandler({{}, {}, [this](const auto& claim) {
                       for (const auto& set : sets_.objects())
                         if (set->metadata.namespace_ == claim->metadata.namespace_ &&
                             claim->metadata.name.find("-" + set->metadata.name + "-") !=
                                 std::string::npos)
                           queue_.add(api::keyOf(set->metadata).toString());
                     }});
}

Task<Result<>> StatefulSetController::sync(std::string key) {
  const SetPtr set = sets_.get(keyOfText(key));
  if (!set || set->metadata.deletionTimestamp) co_return Result<>{};
  if (!pods_.settled(set->metadata.uid)) co_return Result<>{};
  const Owner owner{api::StatefulSet::kType, set->metadata};
  auto claiming = pods_.claim(owner, set->spec.selector, [&set](const auto& pod) {
    return ordinalOf(pod, set->metadata.name) >= 0;
  });
  auto claimed = co_await claiming;
  if (!claimed) co_return fail(std::move(claimed.error()));
  std::map<int, PodPtr> pods;
  std::set<std::string> inUse;
  for (auto& pod : *claimed) {
    inUse.insert(revisionOf(*pod));
    pods[ordinalOf(*pod, set->metadata.name)] = std::move(pod);
  }
  auto remembering = history_.lookUp({owner, set->spec.selector, set->spec.template_});
  auto history = co_await remembering;
  if (!history) co_return fail(std::move(history.error()));
  Revisions revisions{history->current, history->current};
  for (const auto& revision : history->known)
    if (revision->metadata.name == set->status.currentRevision) revisions.current = revision;

  auto acting = act(set, pods, revisions);
  auto done = co_await acting;
  for (const auto& revision : {revisions.current, revisions.update})
    inUse.insert(revision->metadata.name);
  if (done) {
    auto trimming = history_.trim(std::move(history->known), std::move(inUse),
                                  set->spec.revisionHistoryLimit.value_or(kDefaultHistory));
    done = co_await trimming;
  }
  auto reporting = report(set, std::move(pods), std::move(revisions));
  auto reported = co_await reporting;
  co_return done ? reported : done;
}

Task<Result<>> StatefulSetController::act(SetPtr set, std::map<int, PodPtr> pods,
                                          Revisions revisions) {
  auto settling = settleClaims(set, pods);
  auto settled = co_await settling;
  if (!settled) co_return settled;
  auto stepping = step(set, std::move(pods), std::move(revisions));
  co_return co_await stepping;
}

Task<Result<>> StatefulSetController::createPod(SetPtr set, int ordinal, RevisionPtr revision) {
  const Owner owner{api::StatefulSet::kType, set->metadata};
  auto claiming = claims_.make(set, ordinal);
  auto claimed = co_await claiming;
  if (!claimed) co_return fail(std::move(claimed.error()));
  if (!*claimed) {
    queue_.addAfter(api::keyOf(set->metadata).toString(), kClaimPoll);
    co_return Result<>{};
  }
  json::value document = templateOf(*revision);
  const std::string name = fmt::format("{}-{}", set->metadata.name, ordinal);
  setLabel(document, kRevisionLabel, revision->metadata.name);
  setLabel(document, "apps.kubernetes.io/pod-index", fmt::format("{}", ordinal));
  setLabel(document, "statefulset.kubernetes.io/pod-name", name);
  if (auto* spec = find(document, "spec"); spec && spec->is_object()) {
    auto& members = spec->get_object();
    members["hostname"] = name;
    members["subdomain"] = set->spec.serviceName;
    addClaimVolumes(members, *set, ordinal);
  }
  auto creating = pods_.create(owner, std::move(document), {.name = name});
  auto created = co_await creating;
  if (!created && created.error().code != ErrorCode::AlreadyExists) co_return created;
  co_return Result<>{};
}

Task<Result<>> StatefulSetController::settleClaims(SetPtr set, const std::map<int, PodPtr>& pods) {
  const int first = firstOrdinal(*set);
  const int end = first + set->spec.replicas.value_or(1);
  for (const auto& [ordinal, pod] : pods) {
    auto settling = claims_.settle(set, ordinal, pod, ordinal < first || ordinal >= end);
    auto settled = co_await settling;
    if (!settled) co_return settled;
  }
  co_return Result<>{};
}

Task<Result<>> StatefulSetController::step(SetPtr set, std::map<int, PodPtr> pods,
                                           Revisions revisions) {
  const Owner owner{api::StatefulSet::kType, set->metadata};
  const int first = firstOrdinal(*set);
  const int end = first + set->spec.replicas.value_or(1);
  const bool ordered = set->spec.podManagementPolicy != "Parallel";
  const auto isAvailable = [&, now = executor_.wallNow()](const api::Pod& pod) {
    const auto wait = timeUntilAvailable(pod, set->spec.minReadySeconds, now);
    return wait && *wait <= Duration::zero();
  };
  for (int ordinal = first; ordinal < end; ++ordinal) {
    const auto pod = pods.find(ordinal);
    if (pod == pods.end()) {
      const bool keeps = rollsOut(*set) && ordinal < partitionOf(*set);
      auto creating = createPod(set, ordinal, keeps ? revisions.current : revisions.update);
      auto created = co_await creating;
      if (!created) co_return created;
      if (ordered) co_return Result<>{};
      continue;
    }
    if (pod->second->metadata.deletionTimestamp) {
      if (ordered) co_return Result<>{};
      continue;
    }
    if (api::isTerminal(*pod->second)) {
      auto removing = pods_.remove(owner, pod->second);
      co_return co_await removing;
    }
    if (pod->second->status.phase == "Pending") {
      auto claiming = claims_.make(set, ordinal);
      auto claimed = co_await claiming;
      if (!claimed) co_return fail(std::move(claimed.error()));
    }
    // As upstream: a pod that never gets ready also blocks the template that would fix it.
    if (ordered && !isAvailable(*pod->second)) co_return Result<>{};
  }
  for (auto it = pods.rbegin(); it != pods.rend(); ++it) {
    if (it->first >= first && it->first < end) continue;
    if (!it->second->metadata.deletionTimestamp) {
      auto removing = pods_.remove(owner, it->second);
      auto removed = co_await removing;
      if (!removed) co_return removed;
    }
    if (ordered) co_return Result<>{};
  }
  if (!rollsOut(*set)) co_return Result<>{};
  for (int ordinal = end - 1; ordinal >= std::max(partitionOf(*set), first); --ordinal) {
    const auto pod = pods.find(ordinal);
    if (pod == pods.end()) co_return Result<>{};
    if (revisionOf(*pod->second) != revisions.update->metadata.name) {
      if (pod->second->metadata.deletionTimestamp) co_return Result<>{};
      auto removing = pods_.remove(owner, pod->second);
      co_return co_await removing;
    }
    if (!isAvailable(*pod->second)) co_return Result<>{};
  }
  co_return Result<>{};
}

Task<Result<>> StatefulSetController::report(SetPtr set, std::map<int, PodPtr> pods,
                                             Revisions revisions) {
  api::StatefulSetStatus status;
  status.observedGeneration = set->metadata.generation;
  status.currentRevision = revisions.current->metadata.name;
  status.updateRevision = revisions.update->metadata.name;
  for (const auto& [ordinal, pod] : pods) {
    if (!isActive(*pod)) continue;
    ++status.replicas;
    if (revisionOf(*pod) == status.currentRevision) ++status.currentReplicas;
    if (revisionOf(*pod) == status.updateRevision) ++status.updatedReplicas;
    const auto wait = timeUntilAvailable(*pod, set->spec.minReadySeconds, executor_.wallNow());
    if (!wait) continue;
    ++status.readyReplicas;
    if (*wait <= Duration::zero())
      ++status.availableReplicas;
    else
      queue_.addAfter(api::keyOf(set->metadata).toString(), *wait);
  }
  const int wanted = set->spec.replicas.value_or(1);
  if (rollsOut(*set) && status.replicas == wanted && status.updatedReplicas == wanted &&
      status.readyReplicas == wanted) {
    status.currentRevision = status.updateRevision;
    status.currentReplicas = status.updatedReplicas;
  }
  if (status == set->status) co_return Result<>{};
  json::value document = json::object{{"observedGeneration", status.observedGeneration},
                                      {"replicas", status.replicas},
                                      {"readyReplicas", status.readyReplicas},
                                      {"currentReplicas", status.currentReplicas},
                                      {"updatedReplicas", status.updatedReplicas},
                                      {"availableReplicas", status.availableReplicas},
                                      {"currentRevision", status.currentRevision},
                                      {"updateRevision", status.updateRevision}};
  auto writing = writeStatus(api_, {api::StatefulSet::kType, set->metadata}, std::move(document));
  co_return co_await writing;
}

}  // namespace koord::cluster
