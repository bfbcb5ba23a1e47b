#include "cluster/controllers/replica_set.h"

#include <algorithm>
#include <boost/json/object.hpp>

#include "kube/client.h"

namespace koord::cluster {

ReplicaSetController::ReplicaSetController(kube::Api& api, Executor& executor,
                                           kube::Informer<api::ReplicaSet>& sets, PodControl& pods)
    : api_(api),
      executor_(executor),
      sets_(sets),
      pods_(pods),
      queue_(executor, "replicaset", [this](std::string key) { return sync(std::move(key)); }) {
  enqueueChanged(sets_, queue_);
  enqueueControllersOf(pods_.informer(), sets_, queue_);
}

Task<Result<>> ReplicaSetController::sync(std::string key) {
  const auto set = sets_.get(keyOfText(key));
  if (!set) co_return Result<>{};
  const Owner owner{api::ReplicaSet::kType, set->metadata};
  // Asked first: what is seen to arrive while pods are claimed is not in the list.
  const bool settled = pods_.settled(set->metadata.uid);
  auto claiming = pods_.claim(owner, set->spec.selector);
  auto claimed = co_await claiming;
  if (!claimed) co_return fail(std::move(claimed.error()));
  std::vector<PodPtr> active = *std::move(claimed);
  std::erase_if(active, [](const auto& pod) { return !isActive(*pod); });

  if (!set->metadata.deletionTimestamp && settled) {
    const int wanted = set->spec.replicas.value_or(1);
    for (int have = static_cast<int>(active.size()); have < wanted; ++have) {
      auto creating = pods_.create(owner, set->spec.template_);
      auto created = co_await creating;
      if (!created) co_return created;
    }
    std::ranges::sort(active, giveUpBefore);
    for (int extra = static_cast<int>(active.size()) - wanted, i = 0; i < extra; ++i) {
      auto removing = pods_.remove(owner, active[static_cast<std::size_t>(i)]);
      auto removed = co_await removing;
      if (!removed) co_return removed;
    }
  }

  api::ReplicaSetStatus status;
  std::optional<Duration> recheck;
  for (const auto& pod : pods_.podsOf(set->metadata.uid)) {
    if (!isActive(*pod)) continue;
    ++status.replicas;
    ++status.fullyLabeledReplicas;
    const auto wait = untilAvailable(*pod, set->spec.minReadySeconds, executor_.wallNow());
    if (!wait) continue;
    ++status.readyReplicas;
    if (*wait <= Duration::zero()) {
      ++status.availableReplicas;
    } else {
      recheck = std::min(recheck.value_or(*wait), *wait);
    }
  }
  if (recheck) queue_.addAfter(key, *recheck);
  status.observedGeneration = set->metadata.generation;
  if (status == set->status) co_return Result<>{};
  // A merge patch leaves absent members alone, so zeros are written out.
  json::value patch = json::object{{"status",
                                    {{"replicas", status.replicas},
                                     {"fullyLabeledReplicas", status.fullyLabeledReplicas},
                                     {"readyReplicas", status.readyReplicas},
                                     {"availableReplicas", status.availableReplicas},
                                     {"observedGeneration", status.observedGeneration}}}};
  auto patching =
      patchIfThere(api_, api::ReplicaSet::kType, keyOfText(key), std::move(patch), "status");
  co_return co_await patching;
}

}  // namespace koord::cluster
