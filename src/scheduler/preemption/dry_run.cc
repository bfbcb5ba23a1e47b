// Finds the pods that must leave a node so that this pod fits there, and no more than necessary.
// The choices equal kube-scheduler's, since users know them:
//
// 1. Remove all pods that may be victims (by rule: those of lower priority). If the pod still does
//    not fit, the node is not a candidate.
// 2. Put them back one by one and keep each with which the pod still fits. First come pods whose
//    eviction would violate a disruption budget, then the others; within both the more important
//    ones first (priority, then run time). The pods that could not come back are the victims.
//
// This is greedy. The least number of victims would be a knapsack problem, and is not the goal: an
// important pod stays even if two others are evicted for it. The order makes the result
// deterministic.
//
// The dry run changes the cluster's state inside a transaction, so that every filter, quota and
// ledger judges by its usual tables. Pods are removed and added with their grants, and the rollback
// restores the rest. The search counts pods that are nominated for the node.
//
// Cost: with v possible victims on the node, v + 1 runs of all filters on one node and 2 v changes
// of the cluster. Without a cache this applies to each of N nodes and each pod of a burst of equal
// pods. If only Signed plugins judge, the outcome depends on the pod's class and priority, the
// budgets, and the node. It is kept for each of these until a plugin's epoch rises, and computed
// again only for nodes in the cluster's change log, so that a burst of b pods costs N + b runs
// instead of N b. Pods that start, or begin to terminate, change only the order of importance:
// podDetails.

#include "scheduler/preemption/dry_run.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "scheduler/framework/profile.h"

namespace koord::scheduler {

std::vector<std::pair<std::string, std::size_t>> reasonsOf(
    std::span<const DryRunOutcomePtr> refused) {
  std::map<std::string, std::size_t> counts;
  for (const DryRunOutcomePtr& outcome : refused)
    for (const std::string& reason : outcome->status.reasons()) ++counts[reason];
  return {counts.begin(), counts.end()};
}

void DryRun::begin(const CycleState& state, const PodInfo& pod) {
  current_ = nullptr;
  nominatedNode_ = cluster_.findNode(handle_.nominator().nodeOf(pod.uid()));
  const auto podClass =
      rules_.outcomesAreReusable() ? handle_.search().decidingClass(state) : nullptr;
  const auto admitKey = podClass ? handle_.search().admitKey(pod) : std::nullopt;
  if (!admitKey) return;
  std::erase_if(kept_, [](const Kept& kept) { return kept.podClass.expired(); });
  const auto known = std::ranges::find_if(kept_, [&](const Kept& kept) {
    return kept.podClass.lock() == podClass && kept.priority == pod.priority &&
           kept.admitKey == *admitKey;
  });
  if (known != kept_.end()) {
    current_ = &*known;
  } else {
    if (kept_.size() >= kMaxKept) kept_.erase(std::ranges::min_element(kept_, {}, &Kept::lastUse));
    current_ = &kept_.emplace_back();
    current_->podClass = podClass;
    current_->priority = pod.priority;
    current_->admitKey = *admitKey;
  }
  std::vector<std::uint64_t> epochs;
  for (const Changing* part : handle_.profile().changing)
    epochs.push_back(part->epoch(podClass->state, pod));
  const auto changes = cluster_.changesSince(current_->position);
  if (!changes || changes->size() >= cluster_.liveCount() || current_->epochs != epochs ||
      current_->budgets != budgets_.version()) {
    current_->outcomes.clear();
  } else {
    for (const NodeId node : *changes)
      if (node < current_->outcomes.size()) current_->outcomes[node] = nullptr;
  }
  current_->epochs = std::move(epochs);
  current_->position = cluster_.changeEnd();
  current_->budgets = budgets_.version();
  current_->lastUse = ++uses_;
}

DryRunOutcomePtr DryRun::on(CycleState& state, const PodPtr& pod, NodeId node) {
  // The node that this pod is nominated for looks different to other pods of its class.
  if (!current_ || nominatedNode_ == node)
    return std::make_shared<const DryRunOutcome>(dryRunOn(state, pod, node));
  if (node >= current_->outcomes.size()) current_->outcomes.resize(cluster_.capacity());
  DryRunOutcomePtr& kept = current_->outcomes[node];
  if (!kept || kept->podDetails != cluster_.podDetails(node))
    kept = std::make_shared<const DryRunOutcome>(dryRunOn(state, pod, node));
  return kept;
}

Status DryRun::judge(CycleState& state, const PodPtr& pod, NodeId node) {
  Status status = handle_.search().filterNode(state, pod, node);
  return status.ok() ? rules_.admits(*pod, node) : status;
}

DryRunOutcome DryRun::dryRunOn(CycleState& state, const PodPtr& pod, NodeId node) {
  DryRunOutcome outcome;
  outcome.podDetails = cluster_.podDetails(node);
  // Members of its group that are only assumed there stay with it, or it is not placed either.
  const bool grouped = !handle_.profile().groupOf(*pod).empty();
  const auto comesAlong = [&](const PodPtr& other) {
    return grouped && cluster_.findPod(other->uid())->assumed &&
           handle_.profile().sameGroup(*other, *pod);
  };
  std::vector<PodPtr> lower;
  for (const PodPtr& other : cluster_.node(node).pods)
    if (PreemptionRules::isEvictable(*other) && rules_.mayBePreempted(*other, *pod) &&
        !comesAlong(other))
      lower.push_back(other);
  if (lower.empty()) {
    outcome.status = Status::unresolvable(rules_.noVictims(*pod, cluster_.node(node).name));
    return outcome;
  }
  const WallTime now = handle_.executor().wallNow();
  std::ranges::sort(lower, [&](const PodPtr& a, const PodPtr& b) {
    if (moreImportant(*a, *b, now) != moreImportant(*b, *a, now)) return moreImportant(*a, *b, now);
    return a->uid() < b->uid();  // any order that is always the same
  });
  Cluster::Transaction whatIf(cluster_);
  std::unordered_map<const PodInfo*, Grants> held;  // grants of pods that can come back
  for (const PodPtr& other : lower)
    held[other.get()] = std::move(cluster_.removePod(other->uid())->grants);
  outcome.status = judge(state, pod, node);
  if (!outcome.status.ok()) return outcome;
  // Put back as many as possible, first those whose eviction violates a budget.
  const DisruptionBudgets::Split split = budgets_.split(lower);
  std::vector<PodPtr> victims;
  std::int64_t budgetsBroken = 0;
  for (const auto* group : {&split.breaking, &split.allowed}) {
    for (const PodPtr& other : *group) {
      if (!cluster_.assume(other, node, held[other.get()])) continue;
      if (judge(state, pod, node).ok()) continue;
      cluster_.removePod(other->uid());
      victims.push_back(other);
      if (group == &split.breaking) ++budgetsBroken;
    }
  }
  std::ranges::stable_sort(
      victims, [&](const PodPtr& a, const PodPtr& b) { return moreImportant(*a, *b, now); });
  if (victims.empty()) {
    outcome.status = Status::error("expected at least one victim pod on node \"" +
                                   cluster_.node(node).name + "\"");
    return outcome;
  }
  const bool promised = handle_.nominator().on(cluster_.node(node).name) && nominatedNode_ != node;
  const WallTime vacated = promised ? WallTime::min() : victimsGoneAt(victims);
  outcome.candidate = Candidate(node, std::move(victims), budgetsBroken);
  outcome.candidate.cost.victimsGoneUntil = vacated;
  return outcome;
}

}  // namespace koord::scheduler
