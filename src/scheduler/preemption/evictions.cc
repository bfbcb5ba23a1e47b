#include "scheduler/preemption/evictions.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"
#include "base/time.h"
#include "kube/client.h"
#include "kube/events.h"
#include "scheduler/framework/audit.h"
#include "scheduler/framework/observer.h"
#include "scheduler/framework/profile.h"

namespace koord::scheduler {

namespace {

// Backoff after failed evictions, before their preemptor tries again: an API server that refuses at
// once would be called in a loop.
constexpr Duration kShortestRest = std::chrono::seconds(1);
constexpr Duration kLongestRest = std::chrono::minutes(1);

// After this time, the write of a nomination has reached its object or has been given up.
constexpr Duration kLongestWrite = std::chrono::minutes(3);

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
  if (!refusals_.empty() || !withdrawn_.empty()) noteUnit(before, after);
  if (!awaitedBy_.empty()) {
    if (!after || api::isTerminal(*pod.pod)) noteVictimGone(pod.uid());
    if (!after || !pod.pod->spec.nodeName.empty()) awaitedVictims_.erase(pod.uid());
  }
  const bool leaves = after && !pod.pod->spec.nodeName.empty() && terminatesByPreemption(*pod.pod);
  if (!leaves && nodeOfTerminating_.empty()) return;
  const auto known = nodeOfTerminating_.find(pod.uid());
  if (leaves == (known != nodeOfTerminating_.end())) return;
  if (leaves) {
    const std::string& node = pod.pod->spec.nodeName;
    nodeOfTerminating_.emplace(pod.uid(), node);
    ++terminatingByNode_[node];
  } else {
    const auto node = terminatingByNode_.find(known->second);
    if (--node->second == 0) terminatingByNode_.erase(node);
    nodeOfTerminating_.erase(known);
  }
}

void Evictions::awaitVictims(const PodInfo& preemptor, std::span<const PodPtr> victims) {
  if (rehearsal_) return;
  auto& awaited = awaitedVictims_[preemptor.uid()];
  for (const PodPtr& victim : victims)
    if (awaited.insert(victim->uid()).second) awaitedBy_[victim->uid()].push_back(preemptor.uid());
  if (awaited.empty()) awaitedVictims_.erase(preemptor.uid());
}

void Evictions::noteVictimGone(const std::string& uid) {
  const auto found = awaitedBy_.extract(uid);
  if (!found) return;
  std::vector<PodPtr> ready;
  for (const std::string& preemptor : found.mapped()) {
    const auto awaited = awaitedVictims_.find(preemptor);
    if (awaited == awaitedVictims_.end()) continue;  // it does not wait for them now
    awaited->second.erase(uid);
    if (!awaited->second.empty()) continue;
    awaitedVictims_.erase(awaited);
    const auto pending = handle_.knownPods().ours().find(preemptor);
    if (pending != handle_.knownPods().ours().end()) ready.push_back(pending->second);
  }
  if (!ready.empty()) handle_.requeue(ready);
}

// The state of units that wait for a node.
void Evictions::noteUnit(const PodPtr& before, const PodPtr& after) {
  const PodInfo& pod = after ? *after : *before;
  const bool waits = after && pod.pod->spec.nodeName.empty();
  if (!waits) refusals_.erase(pod.uid());
  const auto withdrawn = withdrawn_.find(pod.uid());
  if (withdrawn == withdrawn_.end()) return;
  const bool late = handle_.executor().steadyNow() > withdrawn->second.until;
  const auto shows = [&](const PodPtr& object) {
    return object && object->pod->status.nominatedNodeName == withdrawn->second.node;
  };
  const bool written = waits && !late && shows(after) && !shows(before);
  if (waits && !late && !written) return;
  withdrawn_.erase(withdrawn);
  // Unless it was nominated for a node again, its object still shows the cleared nomination.
  if (written && handle_.nominator().nodeOf(pod.uid()).empty()) withdraw(after);
}

bool Evictions::anyTerminates(NodeId node) const {
  return terminatingByNode_.contains(handle_.cluster().node(node).name);
}

bool Evictions::isLeaving(const PodInfo& victim) const {
  if (terminatesByPreemption(*victim.pod)) return true;
  return !victim.pod->metadata.deletionTimestamp && requested_.contains(victim.uid());
}

std::string Evictions::check(const PodInfo& preemptor, const PreemptionRules& rules,
                             std::vector<PodPtr>& victims) const {
  if (std::string why = rules.preemptionBlockedReason(preemptor); !why.empty()) return why;
  std::vector<PodPtr> left;
  for (const PodPtr& victim : victims) {
    const auto* counted = handle_.cluster().findPod(victim->uid());
    if (!counted || counted->info->pod->metadata.deletionTimestamp) continue;
    const PodInfo& now = *counted->info;
    if (now.priority >= preemptor.priority || !PreemptionRules::isEvictable(now) ||
        !rules.mayBePreempted(now, preemptor))
      return fmt::format("pod {} must not be evicted for it", victim->key());
    left.push_back(victim);
  }
  victims = std::move(left);
  return "";
}

bool Evictions::start(std::vector<Order> orders, const By& by) {
  static const PreemptionRules kPlain;
  const std::vector<Order> all = orders;
  for (Order& order : orders) {
    const std::string why = check(*order.preemptor, by.rules ? *by.rules : kPlain, order.victims);
    if (why.empty()) continue;
    log::error("no victim is evicted from node {} for {}: {}", order.node, order.preemptor->key(),
               why);
    return false;
  }
  if (rehearsal_) {
    rehearsal_->orders_ = all;
    return true;
  }
  if (WorkloadAudit* audit = auditOf(handle_.shared()))
    for (const Order& order : all) audit->victims(*order.preemptor, order.victims);
  std::erase_if(requested_, [&](const std::string& uid) {
    const auto* counted = handle_.cluster().findPod(uid);
    return !counted || counted->info->pod->metadata.deletionTimestamp;
  });
  for (Order& order : orders) begin(std::move(order), by);
  return true;
}

void Evictions::begin(Order order, const By& by) {
  clearNominations(*order.preemptor, order.node, by);
  if (order.victims.empty()) return;
  const std::string& uid = order.preemptor->uid();
  auto running = std::make_shared<Running>();
  running->preemptor = order.preemptor;
  running->node = order.node;
  running->lastVictim = order.victims.back()->uid();
  running->known = handle_.knownPods().ours().contains(uid);
  running->onlyLast = order.victims.size() == 1;
  running->by = by;
  running_[uid] = running;
  awaitVictims(*order.preemptor, order.victims);
  tasks_.spawn(run(running, std::move(order.victims)));
}

bool Evictions::mustWait(const std::string& preemptorUid) const {
  const auto it = running_.find(preemptorUid);
  if (it == running_.end()) return false;
  if (!it->second->onlyLast) return true;
  const auto* last = handle_.cluster().findPod(it->second->lastVictim);
  return last && !last->info->pod->metadata.deletionTimestamp;
}

PodPtr Evictions::findWaiting(const std::function<bool(const PodInfo&)>& wanted) const {
  for (const auto& [uid, running] : running_)
    if (wanted(*running->preemptor) && mustWait(uid) && stillNeeded(*running))
      return running->preemptor;
  return nullptr;
}

bool Evictions::isPaused(const std::string& preemptorUid) const {
  const auto it = refusals_.find(preemptorUid);
  return it != refusals_.end() && handle_.executor().steadyNow() < it->second.until;
}

std::vector<PodPtr> Evictions::leavingFor(const PodInfo& preemptor) const {
  std::vector<PodPtr> leaving;
  const auto node = handle_.cluster().findNode(handle_.nominator().nodeOf(preemptor.uid()));
  if (!node) return leaving;
  for (const PodPtr& pod : handle_.cluster().node(*node).pods)
    if (pod->priority < preemptor.priority && isLeaving(*pod)) leaving.push_back(pod);
  return leaving;
}

// A unit that is gone, terminates, or has a node needs no victims.
bool Evictions::stillNeeded(const Running& running) const {
  if (!running.known) return true;
  const auto& waiting = handle_.knownPods().ours();
  const auto now = waiting.find(running.preemptor->uid());
  return now != waiting.end() && !now->second->pod->metadata.deletionTimestamp &&
         !handle_.cluster().findPod(running.preemptor->uid());
}

// Other pods that are nominated for this node may search again, unless they are placed there
// together with it.
void Evictions::clearNominations(const PodInfo& preemptor, const std::string& node, const By& by) {
  const auto* nominated = handle_.nominator().on(node);
  if (!nominated) return;
  const std::vector<PodPtr> others = *nominated;
  for (const PodPtr& other : others)
    if (other->priority < preemptor.priority && !handle_.nominator().foreign(other->uid()) &&
        !(by.profile && by.profile->sameGroup(*other, preemptor)))
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
  // Wake the preemptor here: its last victim may have gone before the evictions of others were
  // requested.
  const bool gone = !handle_.cluster().findPod(victims.back()->uid());
  const auto current = running_.find(running->preemptor->uid());
  if (current != running_.end() && current->second == running) running_.erase(current);
  if (good) refusals_.erase(running->preemptor->uid());
  if (!good) awaitedVictims_.erase(running->preemptor->uid());  // some of them stay
  if (!good && stillNeeded(*running)) {
    auto rest = sleepFor(handle_.executor(), noteRefusal(*running));
    co_await rest;
  }
  if (!stillNeeded(*running)) {
    wakeGroup(*running);
  } else if (!good || gone) {
    handle_.activate({running->preemptor});  // its victims are gone, or will not leave
  }
}

// PreEnqueue may hold members of the preemptor's group. They need not wait, and no event tells
// them. Many preemptors of a job end at once, so the pending pods are searched once for all of
// them.
void Evictions::wakeGroup(const Running& running) {
  const GroupPlugin* groups = running.by.profile ? running.by.profile->groups : nullptr;
  const std::string group = groups ? groups->groupOf(*running.preemptor) : std::string();
  if (group.empty()) return;
  if (wakes_.empty()) tasks_.spawn(wakeGroups());
  for (std::string& name : groups->placedWith(group)) wakes_[groups].insert(std::move(name));
}

Task<void> Evictions::wakeGroups() {
  auto turn = sleepFor(handle_.executor(), Duration::zero());
  co_await turn;
  for (const auto& [groups, names] : std::exchange(wakes_, {})) {
    std::vector<PodPtr> members;
    for (const auto& [uid, pod] : handle_.knownPods().ours())
      if (names.contains(groups->groupOf(*pod))) members.push_back(pod);
    handle_.activate(members);
  }
}

Duration Evictions::noteRefusal(const Running& running) {
  const PodInfo& preemptor = *running.preemptor;
  Refusals& refusals = refusals_[preemptor.uid()];
  // Without an API no request can be refused.
  refusals.rest =
      handle_.api() ? std::clamp(refusals.rest * 2, kShortestRest, kLongestRest) : kShortestRest;
  refusals.until = handle_.executor().steadyNow() + refusals.rest;
  if (running.by.events && !running.refused.empty())
    running.by.events->record(
        handle_.kindOf(preemptor).reference(preemptor), "Warning", "FailedPreemption",
        fmt::format("The API server refuses the eviction of pod {} from node {} (see the "
                    "scheduler's log); the next attempt is after {}",
                    running.refused, running.node, formatDuration(refusals.rest)),
        "Preempting");
  return refusals.rest;
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
  // A pod that waits at Permit is not bound: rejecting it is enough.
  if (const auto waiting = handle_.waitingPods().find(victim->uid())) {
    waiting->preempt(running->by.plugin);
    report(*running, *victim, true);
    co_return true;
  }
  auto evicting = handle_.kindOf(*victim).evict(victim, preemptor);
  const bool left = co_await evicting;
  if (!left) {
    running->refused = victim->key();
    co_return false;
  }
  requested_.insert(victim->uid());
  log::v(2, "pod {} preempts pod {} on node {}", preemptor->key(), victim->key(), running->node);
  report(*running, *victim, false);
  co_return true;
}

void Evictions::noteNominationEnds(const PodInfo& pod, std::string node) {
  if (!node.empty())
    withdrawn_[pod.uid()] = {std::move(node), handle_.executor().steadyNow() + kLongestWrite};
}

// A nomination that the object does not show yet is removed here; otherwise it is removed when the
// object has changed.
Task<void> Evictions::clearNomination(PodPtr pod) {
  const PodPtr now = handle_.knownPods().find(handle_.cluster(), pod->uid());
  const PodPtr current = now ? now : pod;
  if (now) noteNominationEnds(*now, handle_.nominator().nodeOf(pod->uid()));
  if (!handle_.api() || current->pod->status.nominatedNodeName.empty()) {
    handle_.nominator().remove(pod->uid());
    co_return;
  }
  auto announcing = handle_.kindOf(*current).announce(current, "");
  co_await announcing;
}

void Evictions::report(const Running& running, const PodInfo& victim, bool inMemory) {
  if (onEvicted) onEvicted(*running.preemptor, victim, running.by.plugin);
  if (!running.by.events) return;
  const PodInfo& preemptor = *running.preemptor;
  running.by.events->record(
      handle_.kindOf(victim).reference(victim), "Normal", "Preempted",
      fmt::format("Preempted by pod {} on node {}{}", preemptor.uid(), running.node,
                  inMemory ? " (in kube-scheduler memory)." : ""),
      "Preempting", handle_.kindOf(preemptor).reference(preemptor));
}

}  // namespace koord::scheduler
