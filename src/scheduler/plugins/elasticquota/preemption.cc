// Preemption within a quota: like Kubernetes' own, but victims are pods of the preemptor's quota,
// and they free quota as well as resources of a node. Every node is a candidate.
//
// A pod stays a victim if the filters fail with it or the quota is exceeded with it. One dry run
// decides both (DryRun judges by filters and Admit plugins), so that no victim is listed twice.
// Nodes are tried once for all pods of a class, and again when they, or the free part of the quota,
// change.
//
// If no node alone is a candidate, or each violates a disruption budget, there is one more
// candidate: pods of lower priority of the quota on several nodes, as many as the quota needs, the
// least important first, and the pods in the way on the node that the pod goes to
// (preemption/job_plan.h). It is compared with the others as they are with each other. Upstream
// evicts the pods of one node after another, whether they free enough or not. This costs one pass
// over all pods per attempt, and a plan for one pod.
//
// If the quota and all nodes are full, pods of the quota alone may not free enough of any node.
// Then each node is tried again with all pods of lower priority as possible victims. The dry run
// judges the quota too, so a node is a candidate only if pods of the quota on it free enough quota,
// and pods of other quotas leave only for the resources of the node. Pods of other quotas that
// count in the same limit (of a child, or of any relative if ancestors' limits are checked) stay.

#include <fmt/format.h>

#include <algorithm>

#include "model/well_known.h"
#include "scheduler/framework/diagnosis.h"
#include "scheduler/plugins/elasticquota/plugin.h"
#include "scheduler/preemption/job_plan.h"

namespace koord::scheduler {

namespace {

constexpr std::size_t kNodesNamed = 10;  // above this, reasons are not listed by node

// Returns true if what pods of `other` use counts in a limit that applies to pods of `place`.
bool countsInLimitOf(const Place& other, const Place& place, const QuotaRules& rules) {
  if (!place || other.tree != place.tree) return false;
  const quota::QuotaTree& tree = place.quotas();
  quota::QuotaId highest = place.quota;
  if (rules.ancestors) {
    while (highest != quota::QuotaTree::kRoot && tree.parent(highest) != quota::QuotaTree::kRoot)
      highest = tree.parent(highest);
  }
  quota::QuotaId quota = other.quota;
  while (quota != highest && quota != quota::QuotaTree::kRoot) quota = tree.parent(quota);
  return quota == highest;
}

bool breaksBudgets(const Candidate* candidate) {
  return candidate->cost.budgetsBroken > 0;
}

}  // namespace

bool QuotaPreemption::mayBePreempted(const PodInfo& victim, const PodInfo& preemptor) const {
  if (!PreemptionRules::mayBePreempted(victim, preemptor) || isFixed(victim.pod->metadata.labels))
    return false;
  const Place place = quotas_.placeOf(victim);
  if (!place || place != quotas_.placeOf(preemptor)) return false;
  return !spareDefault_ || place.name() != model::kDefaultQuota;
}

bool QuotaPreemption::waitsFor(const PodInfo& other, const PodInfo& preemptor) const {
  return other.pod->metadata.deletionTimestamp &&
         quotas_.placeOf(other) == quotas_.placeOf(preemptor);
}

std::int64_t QuotaPreemption::cost(NodeId /*node*/, std::span<const PodPtr> victims) const {
  std::int64_t sum = 0;
  for (const PodPtr& victim : victims)
    sum += std::int64_t{victim->priority} + (std::int64_t{1} << 31);
  return sum;
}

std::string QuotaPreemption::noVictims(const PodInfo& preemptor, const std::string& node) const {
  return fmt::format("No victims found on node {} for preemptor pod {}", node,
                     preemptor.pod->metadata.name);
}

bool QuotaPreemption::possible(const PodInfo& preemptor) const {
  const Place place = quotas_.placeOf(preemptor);
  if (!place || (spareDefault_ && place.name() == model::kDefaultQuota)) return false;
  const auto lowest = place.tree->lowestPriority(place.quota);
  return lowest && *lowest < preemptor.priority;
}

bool QuotaAndNodePreemption::mayBePreempted(const PodInfo& victim, const PodInfo& preemptor) const {
  if (!PreemptionRules::mayBePreempted(victim, preemptor)) return false;
  const Place of = quotas_.placeOf(victim), place = quotas_.placeOf(preemptor);
  if (of == place) return !isFixed(victim.pod->metadata.labels);
  return !countsInLimitOf(of, place, rules_);
}

// The result if no node's pods can free enough.
Status ElasticQuota::noCandidate(const PodInfo& pod, const Diagnosis& diagnosis, std::size_t tried,
                                 std::size_t without, Reasons reasons) const {
  if (without > 0)
    reasons.emplace_back(
        fmt::format("No victims found for preemptor pod {}", pod.pod->metadata.name), without);
  if (diagnosis.totalNodes > tried)
    reasons.emplace_back("Preemption is not helpful for scheduling", diagnosis.totalNodes - tried);
  Status status = PodPreemption::prefixed(Status::unschedulable(fmt::format(
      "0/{} nodes are available: {}.", diagnosis.totalNodes, reasonsText(std::move(reasons)))));
  // If the quota is full, no other preemption helps: pods of other quotas free nothing in it.
  if (diagnosis.preFilter.plugin() == kName) status.code = Code::UnschedulableAndUnresolvable;
  return status;
}

bool ElasticQuota::waitsForVictims(const PodInfo& pod) const {
  const Place place = quotas_.placeOf(pod);
  Evictions& evictions = evictionsOf(handle_);
  std::vector<PodPtr> terminating;
  for (const Cluster::PodRecord& record : cluster_.pods()) {
    const PodInfo& other = *record.info;
    if (other.priority < pod.priority && evictions.isLeaving(other) &&
        quotas_.placeOf(other) == place)
      terminating.push_back(record.info);
  }
  evictions.awaitVictims(pod, terminating);
  return !terminating.empty();
}

std::optional<Candidate> ElasticQuota::candidateAcrossNodes(const PodPtr& pod) {
  const JobPlan plan = planJob(handle_, quotaRules_, std::span(&pod, 1), cluster_.live());
  if (!plan.status.ok() || plan.victims.empty()) return std::nullopt;
  std::vector<PodPtr> victims;
  for (const auto& [node, there] : plan.victims)
    std::ranges::copy(there, std::back_inserter(victims));
  const WallTime now = handle_.executor().wallNow();
  std::ranges::stable_sort(
      victims, [&](const PodPtr& a, const PodPtr& b) { return moreImportant(*a, *b, now); });
  const std::size_t broken = disruptionBudgetsOf(handle_).split(victims).breaking.size();
  return Candidate(plan.places.front().node, std::move(victims), static_cast<std::int64_t>(broken));
}

// The answer if no pod may be evicted now; nullopt if some pod may.
std::optional<PostFilterResult> ElasticQuota::answerWithoutSearch(const PodInfo& pod,
                                                                  const Diagnosis& diagnosis,
                                                                  bool possible) const {
  PostFilterResult result;
  result.victims = 0;
  if (pod.kind && !pod.kind->preemptionBlockedReason(pod).empty()) {
    result.status.code = Code::Unschedulable;  // DefaultPreemption does the same
    return result;
  }
  if (std::string why = preemption_.ineligibleReason(pod, diagnosis); !why.empty())
    return PodPreemption::refusal(std::move(why));
  const bool full = diagnosis.preFilter.plugin() == kName;
  if (full && possible && !handle_.nominator().nodeOf(pod.uid()).empty() && waitsForVictims(pod)) {
    result = PodPreemption::refusal(PodPreemption::kVictimsTerminate);
    result.status.code = Code::UnschedulableAndUnresolvable;  // no other preemption meanwhile
    return result;
  }
  const Place place = quotas_.placeOf(pod);
  if (!full && (!place || place.name() == model::kDefaultQuota) && !possible) {
    // The quota is not the cause: other plugins report the reason.
    result.status.code = Code::Unschedulable;
    return result;
  }
  return std::nullopt;
}

PostFilterResult ElasticQuota::postFilter(CycleState& state, const PodPtr& pod,
                                          const Diagnosis& diagnosis) {
  const bool possible = quotaRules_.possible(*pod);
  if (auto answer = answerWithoutSearch(*pod, diagnosis, possible)) return *std::move(answer);
  PostFilterResult result;
  result.victims = 0;
  const std::vector<NodeId> potential = diagnosis.nodesWith(Code::Unschedulable, cluster_.live());
  std::vector<DryRunOutcomePtr> outcomes;  // keeps alive what the other variables point to
  std::vector<const Candidate*> candidates;
  std::vector<DryRunOutcomePtr> refused;
  Reasons reasons;
  if (possible) preemption_.dryRun().begin(state, *pod);
  const bool named = potential.size() <= kNodesNamed;
  std::size_t without = 0;
  for (const NodeId node : potential) {
    if (!possible) {
      if (named) reasons.emplace_back(quotaRules_.noVictims(*pod, cluster_.node(node).name), 1);
      ++without;
      continue;
    }
    DryRunOutcomePtr outcome = preemption_.dryRun().on(state, pod, node);
    if (outcome->status.ok()) {
      candidates.push_back(&outcome->candidate);
      outcomes.push_back(std::move(outcome));
    } else if (outcome->status.code == Code::Error) {
      result.status = PodPreemption::prefixed(outcome->status);
      return result;
    } else if (outcome->status.code == Code::UnschedulableAndUnresolvable &&
               outcome->candidate.victims.empty() && !named) {
      ++without;
    } else {
      refused.push_back(std::move(outcome));
    }
  }
  const bool full = possible && diagnosis.preFilter.plugin() == kName;
  std::optional<Candidate> across;
  if (full && std::ranges::all_of(candidates, breaksBudgets)) {
    across = candidateAcrossNodes(pod);
    if (across) candidates.push_back(&*across);
  }
  if (!candidates.empty()) return preemption_.execute(pod, candidates);
  if (full) {
    const PodPreemption::Found found = fullNodePreemption_.find(state, pod, diagnosis);
    if (!found.candidates.empty()) return fullNodePreemption_.execute(pod, found.candidates);
  }
  std::ranges::copy(reasonsOf(refused), std::back_inserter(reasons));
  result.status =
      noCandidate(*pod, diagnosis, potential.size(), named ? 0 : without, std::move(reasons));
  result.nomination = {true, ""};
  return result;
}

}  // namespace koord::scheduler
