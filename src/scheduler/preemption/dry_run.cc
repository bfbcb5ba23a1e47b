// Which pods have to leave a node so that this one fits there, and no more of them than that. As
// kube-scheduler does it, since users know its choices:
//
//   1. Take away all pods that may leave (by rule: those of lower priority). If the pod does not fit
//      even then, the node is no candidate.
//   2. Put them back one by one and keep each with which the pod still fits. First come those whose
//      eviction would break a disruption budget, then the others; within both the more important
//      ones first (priority, then how long they have run). Those that could not come back are the
//      victims.
//
// This is greedy. The least number of victims would be a knapsack problem, and is not what is
// wanted: an important pod stays although two others leave for it. The order makes the outcome the
// same on every run.
//
// All of it happens on the cluster itself inside a transaction, so that every filter, quota and
// ledger judges by its usual tables; pods go and come back with all they were given (grants), and
// the rollback restores the rest. Pods that were nominated for the node are counted by the search.
//
// Cost: with v pods on the node that may leave, v + 1 runs of all filters on one node and 2 v
// changes of the cluster. That would be paid for each of N nodes and each pod of a burst of equal
// pods. Where only Signed plugins judge, the outcome depends on the pod's
// class and priority, the budgets, and what is on the node; it is kept for each of these and tried
// again only for nodes in the cluster's change log, so that a burst of b pods costs N + b runs
// instead of N b. Pods that start, or are told to leave, change the order of importance and nothing else:
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
  promised_ = cluster_.findNode(handle_.nominator().nodeOf(pod.uid()));
  const auto podClass = rules_.keepOutcomes() ? handle_.search().decidingClass(state) : nullptr;
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
  const auto changes = cluster_.changesSince(current_->position);
  if (!changes || changes->size() >= cluster_.liveCount() ||
      current_->budgets != budgets_.version()) {
    current_->outcomes.clear();
  } else {
    for (const NodeId node : *changes)
      if (node < current_->outcomes.size()) current_->outcomes[node] = nullptr;
  }
  current_->position = cluster_.changeEnd();
  current_->budgets = budgets_.version();
  current_->lastUse = ++uses_;
}

DryRunOutcomePtr DryRun::on(CycleState& state, const PodPtr& pod, NodeId node) {
  // A node that was promised to this very pod looks different to others like it.
  if (!current_ || promised_ == node)
    return std::make_shared<const DryRunOutcome>(tryOut(state, pod, node));
  if (node >= current_->outcomes.size()) current_->outcomes.resize(cluster_.capacity());
  DryRunOutcomePtr& kept = current_->outcomes[node];
  if (!kept || kept->podDetails != cluster_.podDetails(node))
    kept = std::make_shared<const DryRunOutcome>(tryOut(state, pod, node));
  return kept;
}

Status DryRun::judge(CycleState& state, const PodPtr& pod, NodeId node) {
  Status status = handle_.search().filterNode(state, pod, node);
  return status.ok() ? rules_.admits(*pod, node) : status;
}

DryRunOutcome DryRun::tryOut(CycleState& state, const PodPtr& pod, NodeId node) {
  DryRunOutcome outcome;
  outcome.podDetails = cluster_.podDetails(node);
  // Those of its group that are only thought to be there come with it, or it is not placed either.
  const bool grouped = !handle_.profile().groupOf(*pod).empty();
  const auto comesAlong = [&](const PodPtr& other) {
    return grouped && cluster_.findPod(other->uid())->assumed &&
           handle_.profile().sameGroup(*other, *pod);
  };
  std::vector<PodPtr> lower;
  for (const PodPtr& other : cluster_.node(node).pods)
    if (PreemptionRules::canLeave(*other) && rules_.mayLeave(*other, *pod) && !comesAlong(other))
      lower.push_back(other);
  if (lower.empty()) {
    outcome.status = Status::unresolvable(rules_.noVictims(*pod, cluster_.node(node).name));
    return outcome;
  }
  const WallTime now = handle_.executor().wallNow();
  std::ranges::sort(lower, [&](const PodPtr& a, const PodPtr& b) {
    if (moreImportant(*a, *b, now) != moreImportant(*b, *a, now)) return moreImportant(*a, *b, now);
    return a->uid() < b->uid();  // any order will do, if it is always the same
  });
  Cluster::Transaction whatIf(cluster_);
  std::unordered_map<const PodInfo*, Grants> held;  // what comes back with those that may stay
  for (const PodPtr& other : lower)
    held[other.get()] = std::move(cluster_.removePod(other->uid())->grants);
  outcome.status = judge(state, pod, node);
  if (!outcome.status.ok()) return outcome;
  // Put back as many as possible, those first that must not leave.
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
  const bool promised = handle_.nominator().on(cluster_.node(node).name) && promised_ != node;
  const WallTime vacated = promised ? WallTime::min() : vacatedBy(victims);
  outcome.candidate = Candidate(node, std::move(victims), budgetsBroken);
  outcome.candidate.harm.vacatedUntil = vacated;
  return outcome;
}

}  // namespace koord::scheduler
