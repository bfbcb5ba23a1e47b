#include "scheduler/plugins/defaultpreemption/eviction.h"

#include <fmt/format.h>

#include "base/log.h"
#include "base/time.h"
#include "kube/client.h"
#include "kube/events.h"
#include "scheduler/framework/observer.h"

namespace koord::scheduler {

struct Evictions::Join {
  std::size_t left = 0;
  bool good = true;
  Completer<bool> done;
};

void Evictions::start(const PodPtr& preemptor, const std::string& node,
                      std::vector<PodPtr> victims) {
  std::erase_if(victims, [&](const PodPtr& victim) {
    const auto* counted = handle_.cluster().findPod(victim->uid());
    return !counted || counted->info->pod->metadata.deletionTimestamp;
  });
  if (victims.empty()) return;
  running_[preemptor->uid()] = {victims.back()->uid(), victims.size() == 1};
  tasks_.spawn(run(preemptor, node, std::move(victims)));
}

bool Evictions::holdsBack(const std::string& preemptorUid) const {
  const auto it = running_.find(preemptorUid);
  if (it == running_.end()) return false;
  if (!it->second.onlyLast) return true;
  const auto* last = handle_.cluster().findPod(it->second.lastVictim);
  return last && !last->info->pod->metadata.deletionTimestamp;
}

Task<void> Evictions::run(PodPtr preemptor, std::string node, std::vector<PodPtr> victims) {
  // Others that were promised this node may look for a better one.
  if (const auto* nominated = handle_.nominator().on(node)) {
    const std::vector<PodPtr> others = *nominated;
    for (const PodPtr& other : others)
      if (other->priority < preemptor->priority) tasks_.spawn(clearNomination(other));
  }
  const SteadyTime since = handle_.executor().steadyNow();
  bool good = true;
  if (victims.size() > 1) {
    auto [future, completer] = Future<bool>::make(handle_.executor());
    auto join = std::make_shared<Join>(Join{victims.size() - 1, true, std::move(completer)});
    for (std::size_t i = 0; i + 1 < victims.size(); ++i)
      tasks_.spawn(evictAndJoin(preemptor, node, victims[i], join));
    join.reset();
    good = co_await future;
  }
  if (good) {
    running_[preemptor->uid()].onlyLast = true;
    auto last = evict(preemptor, node, victims.back());
    good = co_await last;
  }
  running_.erase(preemptor->uid());
  if (Observer* observer = handle_.observer())
    observer->evicted(good, handle_.executor().steadyNow() - since);
  // It need not wait for room that will not come.
  if (!good) handle_.activate({preemptor});
}

Task<void> Evictions::evictAndJoin(PodPtr preemptor, std::string node, PodPtr victim,
                                   std::shared_ptr<Join> join) {
  auto one = evict(preemptor, node, victim);
  const bool good = co_await one;
  join->good &= good;
  if (--join->left == 0) join->done.complete(bool(join->good));
}

Task<bool> Evictions::evict(PodPtr preemptor, std::string node, PodPtr victim) {
  // A pod that waits for permission has not been bound: it is enough to refuse it.
  if (const auto waiting = handle_.waitingPods().find(victim->uid())) {
    waiting->reject("DefaultPreemption", "preempted");
    tell(*preemptor, node, *victim, true);
    co_return true;
  }
  kube::Api* api = handle_.api();
  if (!api) co_return false;
  const api::ObjectKey key = api::keyOf(victim->pod->metadata);
  json::object condition{{"type", "DisruptionTarget"},
                         {"status", "True"},
                         {"reason", "PreemptionByScheduler"},
                         {"message", preemptor->pod->spec.schedulerName.str() +
                                         ": preempting to accommodate a higher priority pod"},
                         {"lastProbeTime", nullptr},
                         {"lastTransitionTime", formatTime(handle_.executor().wallNow())}};
  if (victim->pod->metadata.generation > 0)
    condition.emplace("observedGeneration", victim->pod->metadata.generation);
  // The uid keeps both writes off a pod that was created anew under the same name.
  json::object patch{{"metadata", json::object{{"uid", victim->uid()}}},
                     {"status", json::object{{"conditions", json::array{std::move(condition)}}}}};
  auto patching = kube::strategicPatch(*api, api::Pod::kType, key, std::move(patch), "status");
  const Result<json::value> patched = co_await patching;
  if (!patched && patched.error().code != ErrorCode::NotFound) {
    log::warn("could not add the DisruptionTarget condition to pod {}: {}", victim->key(),
              patched.error().message);
    co_return false;
  }
  kube::DeleteOptions options;
  options.uid = victim->uid();
  auto deleting = kube::deleteObject(*api, api::Pod::kType, key, options);
  const Result<> deleted = co_await deleting;
  if (!deleted && deleted.error().code != ErrorCode::NotFound &&
      deleted.error().code != ErrorCode::Conflict) {
    log::warn("could not delete pod {} to make room for {}: {}", victim->key(), preemptor->key(),
              deleted.error().message);
    co_return false;
  }
  log::v(2, "pod {} preempts pod {} on node {}", preemptor->key(), victim->key(), node);
  tell(*preemptor, node, *victim, false);
  co_return true;
}

Task<void> Evictions::clearNomination(PodPtr pod) {
  kube::Api* api = handle_.api();
  if (!api) {
    handle_.nominator().remove(pod->uid());
    co_return;
  }
  json::object patch{{"metadata", json::object{{"uid", pod->uid()}}},
                     {"status", json::object{{"nominatedNodeName", nullptr}}}};
  auto patching = kube::strategicPatch(*api, api::Pod::kType, api::keyOf(pod->pod->metadata),
                                       std::move(patch), "status");
  const Result<json::value> patched = co_await patching;
  if (!patched && patched.error().code != ErrorCode::NotFound)
    log::warn("could not clear the nomination of pod {}: {}", pod->key(), patched.error().message);
}

void Evictions::tell(const PodInfo& preemptor, const std::string& node, const PodInfo& victim,
                     bool inMemory) {
  auto* events = handle_.events();
  if (!events) return;
  events->record(kube::referenceTo(api::Pod::kType, victim.pod->metadata), "Normal", "Preempted",
                 fmt::format("Preempted by pod {} on node {}{}", preemptor.uid(), node,
                             inMemory ? " (in kube-scheduler memory)." : ""),
                 "Preempting", kube::referenceTo(api::Pod::kType, preemptor.pod->metadata));
}

}  // namespace koord::scheduler
