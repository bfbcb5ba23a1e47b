#include "scheduler/preemption/pod_preemption.h"

#include <fmt/format.h>

#include <algorithm>

#include "scheduler/framework/diagnosis.h"
#include "scheduler/framework/profile.h"

namespace koord::scheduler {

namespace {

// The number of candidates that judges are called for: each answer may be a plan for a whole group.
// After those of the lowest cost random ones follow, different ones each time.
constexpr int kMaxJudged = 5;
constexpr int kLowestCost = 3;

}  // namespace

PodPreemption::PodPreemption(Handle& handle, const PreemptionRules& rules, std::string plugin,
                             Enough enough)
    : handle_(handle),
      cluster_(handle.cluster()),
      rules_(rules),
      plugin_(std::move(plugin)),
      enough_(enough),
      random_(handle.random()),
      dryRun_(handle, rules),
      evictions_(evictionsOf(handle)) {}

Status PodPreemption::prefixed(Status status) {
  status.setReasons({"preemption: " + status.message()});
  return status;
}

PostFilterResult PodPreemption::refusal(std::string why) {
  PostFilterResult result;
  result.victims = 0;
  result.status = prefixed(Status::unschedulable(std::move(why)));
  return result;
}

std::string PodPreemption::ineligibleReason(const PodInfo& pod, const Diagnosis& diagnosis) const {
  if (std::string why = rules_.preemptionBlockedReason(pod); !why.empty()) return why;
  if (evictions_.mustWait(pod.uid())) return kVictimsTerminate;
  if (evictions_.isPaused(pod.uid())) return Evictions::kRefused;
  // Some units' objects have no field for their node, and the write takes time.
  std::string promised = handle_.nominator().nodeOf(pod.uid());
  if (promised.empty()) promised = pod.pod->status.nominatedNodeName.str();
  const auto node = cluster_.findNode(promised);
  if (!node || !cluster_.live().contains(*node)) return "";
  if (diagnosis.codeOf(*node) == Code::UnschedulableAndUnresolvable) return "";
  std::vector<PodPtr> terminating;
  for (const PodPtr& other : cluster_.node(*node).pods) {
    if (other->priority < pod.priority &&
        (evictions_.isLeaving(*other) || rules_.waitsFor(*other, pod)))
      terminating.push_back(other);
  }
  if (terminating.empty()) terminating = victimsOfSuccessor(pod, *node, diagnosis);
  if (terminating.empty()) return "";
  evictions_.awaitVictims(pod, terminating);
  return kVictimsTerminate;
}

// Another member of the pod's group was tried before it and took its nominated node, because
// victims still leave that member's own. These victims: both members fit when they are gone.
std::vector<PodPtr> PodPreemption::victimsOfSuccessor(const PodInfo& pod, NodeId nominated,
                                                      const Diagnosis& diagnosis) const {
  for (const PodPtr& other : cluster_.node(nominated).pods) {
    if (!handle_.profile().sameGroup(*other, pod)) continue;
    const auto own = cluster_.findNode(handle_.nominator().nodeOf(other->uid()));
    if (!own || *own == nominated || !cluster_.live().contains(*own) ||
        diagnosis.codeOf(*own) == Code::UnschedulableAndUnresolvable)
      continue;
    if (auto leaving = evictions_.leavingFor(*other); !leaving.empty()) return leaving;
  }
  return {};
}

// From a random position on, but first the favored node of a rehearsal, then those with terminating
// victims.
std::vector<NodeId> PodPreemption::inOrder(std::vector<NodeId> nodes) {
  if (nodes.empty()) return nodes;
  const auto offset = static_cast<std::ptrdiff_t>(random_.below(nodes.size()));
  std::ranges::rotate(nodes, nodes.begin() + offset);
  if (evictions_.anyTerminates())
    std::ranges::stable_partition(nodes,
                                  [&](NodeId node) { return evictions_.anyTerminates(node); });
  std::ranges::stable_partition(
      nodes, [favored = evictions_.favored()](NodeId node) { return node == favored; });
  return nodes;
}

PodPreemption::Found PodPreemption::find(CycleState& state, const PodPtr& pod,
                                         const Diagnosis& diagnosis) {
  const std::vector<NodeId> potential = diagnosis.nodesWith(Code::Unschedulable, cluster_.live());
  const std::size_t enough = std::min<std::size_t>(
      potential.size(),
      std::max<std::size_t>(potential.size() * static_cast<std::size_t>(enough_.percentage) / 100,
                            static_cast<std::size_t>(enough_.absolute)));
  const std::vector<NodeId> order = inOrder(potential);
  Found found;
  std::vector<DryRunOutcomePtr> refused;
  std::string error;
  bool keepsBudgets = false;  // a candidate that violates no budget
  dryRun_.begin(state, *pod);
  for (const NodeId node : order) {
    if (keepsBudgets && found.candidates.size() >= enough) break;
    DryRunOutcomePtr outcome = dryRun_.on(state, pod, node);
    if (outcome->status.ok()) {
      keepsBudgets |= outcome->candidate.cost.budgetsBroken == 0;
      found.candidates.push_back(&outcome->candidate);
      found.outcomes.push_back(std::move(outcome));
    } else if (outcome->status.code == Code::Error) {
      error = outcome->status.message();
    } else {
      refused.push_back(std::move(outcome));
    }
  }
  if (!found.candidates.empty()) return found;
  found.none.victims = 0;
  if (!error.empty()) {
    found.none.status = prefixed(Status::error(error));
    return found;
  }
  auto reasons = reasonsOf(refused);
  if (diagnosis.totalNodes > potential.size())
    reasons.emplace_back("Preemption is not helpful for scheduling",
                         diagnosis.totalNodes - potential.size());
  found.none = refusal(fmt::format("0/{} nodes are available: {}.", diagnosis.totalNodes,
                                   reasonsText(std::move(reasons))));
  found.none.nomination = {true, ""};
  return found;
}

Status PodPreemption::checkHelpfulness(const PodPtr& pod, const Candidate& candidate) const {
  for (PreemptionJudge* judge : handle_.profile().offers<PreemptionJudge>())
    if (Status said = judge->checkHelpfulness(pod, candidate); !said.ok()) return said;
  return {};
}

PostFilterResult PodPreemption::execute(const PodPtr& pod,
                                        std::span<const Candidate* const> candidates) {
  std::vector<const Candidate*> left(candidates.begin(), candidates.end());
  Status unhelpful;
  for (int judged = 0; !left.empty() && judged < kMaxJudged; ++judged) {
    const Candidate& best = judged < kLowestCost
                                ? *leastCost(left, handle_.executor().wallNow())
                                : *left[static_cast<std::size_t>(random_.below(left.size()))];
    unhelpful = checkHelpfulness(pod, best);
    if (unhelpful.ok()) {
      const std::string& node = cluster_.node(best.node).name;
      if (!evictions_.start(pod, node, best.victims,
                            {plugin_, handle_.events(), &rules_, &handle_.profile()}))
        return refusal("the cluster has changed in the meantime");
      PostFilterResult result;
      result.victims = best.victims.size();
      result.nomination = {true, node};
      return result;
    }
    std::erase(left, &best);
  }
  PostFilterResult result = refusal(unhelpful.message());
  result.nomination = {true, ""};
  return result;
}

}  // namespace koord::scheduler
