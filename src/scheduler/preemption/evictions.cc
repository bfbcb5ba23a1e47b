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

Evictions::Evictions(Handle& handle) : handle_(handle) {
  handle.knownPods().listen(
      [this](const PodPtr& before, const PodPtr& after) { note(before, after); });
}

void Evictions::note(const PodPtr& before, const PodPtr& after) {
  const PodInfo& pod = after ? *after : *before;
  const bool leaves = after && !pod.pod->spec.nodeName.empty() && leavesByPreemption(*pod.pod);
  if (!leaves && leaving_.empty()) return;
  const auto known = leaving_.find(pod.uid());
  if (leaves == (known != leaving_.end())) return;
  if (leaves) {
    const std::string& node = pod.pod->spec.nodeName;
    leaving_.emplace(pod.uid(), node);
    ++vacating_[node];
  } else {
    const auto node = vacating_.find(known->second);
    if (--node->second == 0) vacating_.erase(node);
    leaving_.erase(known);
  }
}

bool Evictions::anyLeaves(NodeId node) const {
  return vacating_.contains(handle_.cluster().node(node).name);
}

bool Evictions::told(const PodInfo& victim) const {
  return !victim.pod->metadata.deletionTimestamp && told_.contains(victim.uid());
}

std::string Evictions::check(const PodInfo& preemptor, const PreemptionRules& rules,
                             std::vector<PodPtr>& victims) const {
  if (std::string why = rules.mayNotPreempt(preemptor); !why.empty()) return why;
  std::vector<PodPtr> left;
  for (const PodPtr& victim : victims) {
    const auto* counted = handle_.cluster().findPod(victim->uid());
    if (!counted || counted->info->pod->metadata.deletionTimestamp) continue;
    const PodInfo& now = *counted->info;
    if (now.priority >= preemptor.priority || !PreemptionRules::canLeave(now) ||
        !rules.mayLeave(now, preemptor))
      return fmt::format("pod {} must not leave for it", victim->key());
    left.push_back(victim);
  }
  victims = std::move(left);
  return "";
}

bool Evictions::start(const PodPtr& preemptor, const std::string& node, std::vector<PodPtr> victims,
                      By by) {
  static const PreemptionRules kPlain;
  const std::vector<PodPtr> all = victims;
  if (const std::string why = check(*preemptor, by.rules ? *by.rules : kPlain, victims);
      !why.empty()) {
    log::error("nobody leaves node {} for {}: {}", node, preemptor->key(), why);
    return false;
  }
  if (WorkloadAudit* audit = auditOf(handle_.shared())) audit->victims(*preemptor, all);
  std::erase_if(told_, [&](const std::string& uid) {
    const auto* counted = handle_.cluster().findPod(uid);
    return !counted || counted->info->pod->metadata.deletionTimestamp;
  });
  clearNominations(*preemptor, node);
  if (victims.empty()) return true;
  auto running = std::make_shared<Running>();
  running->preemptor = preemptor;
  running->node = node;
  running->lastVictim = victims.back()->uid();
  running->known = handle_.knownPods().ours().contains(preemptor->uid());
  running->onlyLast = victims.size() == 1;
  running->by = std::move(by);
  running_[preemptor->uid()] = running;
  tasks_.spawn(run(running, std::move(victims)));
  return true;
}

bool Evictions::holdsBack(const std::string& preemptorUid) const {
  const auto it = running_.find(preemptorUid);
  if (it == running_.end()) return false;
  if (!it->second->onlyLast) return true;
  const auto* last = handle_.cluster().findPod(it->second->lastVictim);
  return last && !last->info->pod->metadata.deletionTimestamp;
}

// A unit that is gone, is on its way out, or has found a node needs nobody's room.
bool Evictions::stillNeeded(const Running& running) const {
  if (!running.known) return true;
  const auto& waiting = handle_.knownPods().ours();
  const auto now = waiting.find(running.preemptor->uid());
  return now != waiting.end() && !now->second->pod->metadata.deletionTimestamp &&
         !handle_.cluster().findPod(running.preemptor->uid());
}

// Others that were promised this node may look for a better one.
void Evictions::clearNominations(const PodInfo& preemptor, const std::string& node) {
  const auto* nominated = handle_.nominator().on(node);
  if (!nominated) return;
  const std::vector<PodPtr> others = *nominated;
  for (const PodPtr& other : others)
    if (other->priority < preemptor.priority && !handle_.nominator().foreign(other->uid()))
      tasks_.spawn(clearNomination(other));
}

Task<bool> Evictions::evictAll(RunningPtr running, std::vector<PodPtr> victims) {
  if (victims.size() > 1) {
    auto [future, completer] = Future<bool>::make(handle_.executor());
    auto join = std::make_shared<Join>(Join{victims.size() - 1, true, std::move(completer)});
    for (std::size_t i = 0; i + 1 < victims.size(); ++i)
      tasks_.spawn(evictAndJoin(running, victims[i], join));
    join.reset();
    const bool good = co_await future;
    if (!good) co_return false;
  }
  running->onlyLast = true;
  auto last = evict(running, victims.back());
  const bool good = co_await last;
  co_return good;
}

Task<void> Evictions::run(RunningPtr running, std::vector<PodPtr> victims) {
  const SteadyTime since = handle_.executor().steadyNow();
  auto evicting = evictAll(running, victims);
  const bool good = co_await evicting;
  if (Observer* observer = handle_.observer())
    observer->evicted(good, handle_.executor().steadyNow() - since);
  if (!good && stillNeeded(*running)) {
    auto pause = sleepFor(handle_.executor(), kPauseAfterFailure);  // held back meanwhile
    co_await pause;
  }
  const auto current = running_.find(running->preemptor->uid());
  if (current != running_.end() && current->second == running) running_.erase(current);
  // Nobody will tell it of a last victim that went while others had not been told to leave yet.
  const bool gone = !handle_.cluster().findPod(victims.back()->uid());
  // It need not wait for room that will not come.
  if (!good || gone) handle_.activate({running->preemptor});
}

Task<void> Evictions::evictAndJoin(RunningPtr running, PodPtr victim, std::shared_ptr<Join> join) {
  auto one = evict(running, victim);
  const bool good = co_await one;
  join->good &= good;
  if (--join->left == 0) join->done.complete(bool(join->good));
}

Task<bool> Evictions::evict(RunningPtr running, PodPtr victim) {
  if (!stillNeeded(*running)) co_return false;
  const PodPtr preemptor = running->preemptor;
  // A pod that waits for permission has not been bound: it is enough to refuse it.
  if (const auto waiting = handle_.waitingPods().find(victim->uid())) {
    waiting->reject(running->by.plugin, "preempted");
    tell(*running, *victim, true);
    co_return true;
  }
  auto evicting = handle_.kindOf(*victim).evict(victim, preemptor);
  const bool left = co_await evicting;
  if (!left) co_return false;
  told_.insert(victim->uid());
  log::v(2, "pod {} preempts pod {} on node {}", preemptor->key(), victim->key(), running->node);
  tell(*running, *victim, false);
  co_return true;
}

// What no object says yet is forgotten here; what one says when that has changed.
Task<void> Evictions::clearNomination(PodPtr pod) {
  const PodPtr now = handle_.knownPods().find(handle_.cluster(), pod->uid());
  const PodPtr current = now ? now : pod;
  if (!handle_.api() || current->pod->status.nominatedNodeName.empty()) {
    handle_.nominator().remove(pod->uid());
    co_return;
  }
  auto announcing = handle_.kindOf(*current).announce(current, "");
  co_await announcing;
}

void Evictions::tell(const Running& running, const PodInfo& victim, bool inMemory) {
  if (!running.by.events) return;
  const PodInfo& preemptor = *running.preemptor;
  running.by.events->record(
      handle_.kindOf(victim).reference(victim), "Normal", "Preempted",
      fmt::format("Preempted by pod {} on node {}{}", preemptor.uid(), running.node,
                  inMemory ? " (in kube-scheduler memory)." : ""),
      "Preempting", handle_.kindOf(preemptor).reference(preemptor));
}

}  // namespace koord::scheduler
