#include "scheduler/preemption/evictions.h"

#include <fmt/format.h>

#include "base/log.h"
#include "base/time.h"
#include "kube/client.h"
#include "kube/events.h"
#include "scheduler/framework/audit.h"
#include "scheduler/framework/observer.h"

namespace koord::scheduler {

namespace {

// After an eviction that failed, before its preemptor is tried again: an API that refuses at once
// would be asked without end.
constexpr Duration kPauseAfterFailure = std::chrono::seconds(1);

}  // namespace

struct Evictions::Join {
  std::size_t left = 0;
  bool good = true;
  Completer<bool> done;
};

Evictions& evictionsOf(Handle& handle) {
  return handle.shared().of<Evictions>([&] { return std::make_unique<Evictions>(handle); });
}

void Evictions::start(const PodPtr& preemptor, const std::string& node, std::vector<PodPtr> victims,
                      By by) {
  if (WorkloadAudit* audit = auditOf(handle_.shared())) audit->victims(*preemptor, victims);
  std::erase_if(victims, [&](const PodPtr& victim) {
    const auto* counted = handle_.cluster().findPod(victim->uid());
    return !counted || counted->info->pod->metadata.deletionTimestamp;
  });
  if (victims.empty()) return;
  running_[preemptor->uid()] = {victims.back()->uid(), victims.size() == 1, std::move(by)};
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
      if (other->priority < preemptor->priority && !handle_.nominator().foreign(other->uid()))
        tasks_.spawn(clearNomination(other));
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
  if (Observer* observer = handle_.observer())
    observer->evicted(good, handle_.executor().steadyNow() - since);
  if (!good) {
    auto pause = sleepFor(handle_.executor(), kPauseAfterFailure);  // held back meanwhile
    co_await pause;
  }
  running_.erase(preemptor->uid());
  // Nobody will tell it of a last victim that went while others had not been told to leave yet.
  const bool gone = !handle_.cluster().findPod(victims.back()->uid());
  // It need not wait for room that will not come.
  if (!good || gone) handle_.activate({preemptor});
}

Task<void> Evictions::evictAndJoin(PodPtr preemptor, std::string node, PodPtr victim,
                                   std::shared_ptr<Join> join) {
  auto one = evict(preemptor, node, victim);
  const bool good = co_await one;
  join->good &= good;
  if (--join->left == 0) join->done.complete(bool(join->good));
}

Task<bool> Evictions::evict(PodPtr preemptor, std::string node, PodPtr victim) {
  const By by = running_[preemptor->uid()].by;
  // A pod that waits for permission has not been bound: it is enough to refuse it.
  if (const auto waiting = handle_.waitingPods().find(victim->uid())) {
    waiting->reject(by.plugin, "preempted");
    tell(by, *preemptor, node, *victim, true);
    co_return true;
  }
  auto evicting = handle_.kindOf(*victim).evict(victim, preemptor);
  const bool left = co_await evicting;
  if (!left) co_return false;
  log::v(2, "pod {} preempts pod {} on node {}", preemptor->key(), victim->key(), node);
  tell(by, *preemptor, node, *victim, false);
  co_return true;
}

Task<void> Evictions::clearNomination(PodPtr pod) {
  if (!handle_.api()) {
    handle_.nominator().remove(pod->uid());
    co_return;
  }
  auto announcing = handle_.kindOf(*pod).announce(pod, "");
  co_await announcing;
}

void Evictions::tell(const By& by, const PodInfo& preemptor, const std::string& node,
                     const PodInfo& victim, bool inMemory) {
  if (!by.events) return;
  by.events->record(handle_.kindOf(victim).reference(victim), "Normal", "Preempted",
                    fmt::format("Preempted by pod {} on node {}{}", preemptor.uid(), node,
                                inMemory ? " (in kube-scheduler memory)." : ""),
                    "Preempting", handle_.kindOf(preemptor).reference(preemptor));
}

}  // namespace koord::scheduler
