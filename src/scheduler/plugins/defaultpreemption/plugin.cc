#include "scheduler/plugins/defaultpreemption/plugin.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "scheduler/extender/extenders.h"
#include "scheduler/framework/diagnosis.h"

namespace koord::scheduler {

namespace {

bool leavesByPreemption(const api::Pod& pod) {
  return pod.metadata.deletionTimestamp &&
         std::ranges::any_of(pod.status.conditions, [](const api::PodCondition& condition) {
           return condition.type == "DisruptionTarget" && condition.status == "True" &&
                  condition.reason == "PreemptionByScheduler";
         });
}

Status withPrefix(Status status) {
  status.setReasons({"preemption: " + status.message()});
  return status;
}

}  // namespace

Status DefaultPreemption::preEnqueue(const PodInfo& pod) {
  if (!evictions_.holdsBack(pod.uid())) return {};
  return Status::unresolvable("waiting for the preemption for this pod to be finished");
}

std::string DefaultPreemption::mayNotPreempt(const PodInfo& pod, const Diagnosis& diagnosis) const {
  if (pod.pod->spec.preemptionPolicy == "Never")
    return "not eligible due to preemptionPolicy=Never.";
  const auto node = cluster_.findNode(pod.pod->status.nominatedNodeName);
  if (!node || !cluster_.live().contains(*node)) return "";
  if (diagnosis.codeOf(*node) == Code::UnschedulableAndUnresolvable) return "";
  const bool waits = std::ranges::any_of(cluster_.node(*node).pods, [&](const PodPtr& other) {
    return other->priority < pod.priority && leavesByPreemption(*other->pod);
  });
  return waits ? "not eligible due to a terminating pod on the nominated node." : "";
}

PostFilterResult DefaultPreemption::postFilter(CycleState& state, const PodPtr& pod,
                                               const Diagnosis& diagnosis) {
  PostFilterResult result;
  result.victims = 0;
  if (std::string why = mayNotPreempt(*pod, diagnosis); !why.empty()) {
    result.status = withPrefix(Status::unschedulable(std::move(why)));
    return result;
  }
  const std::vector<NodeId> potential = diagnosis.nodesWith(Code::Unschedulable, cluster_.live());
  const std::size_t enough = std::min<std::size_t>(
      potential.size(),
      std::max<std::size_t>(potential.size() * args_.minCandidateNodesPercentage / 100,
                            args_.minCandidateNodesAbsolute));
  const std::size_t offset = potential.empty() ? 0 : random_.below(potential.size());
  std::vector<DryRunOutcomePtr> outcomes;  // keeps alive what the others point to
  std::vector<const Candidate*> candidates;
  std::vector<DryRunOutcomePtr> refused;
  std::string error;
  bool harmless = false;  // a candidate that breaks no budget
  dryRun_.begin(state, *pod);
  for (std::size_t i = 0; i < potential.size() && !(harmless && candidates.size() >= enough); ++i) {
    DryRunOutcomePtr outcome = dryRun_.on(state, pod, potential[(offset + i) % potential.size()]);
    if (outcome->status.ok()) {
      harmless |= outcome->candidate.harm.budgetsBroken == 0;
      candidates.push_back(&outcome->candidate);
      outcomes.push_back(std::move(outcome));
    } else if (outcome->status.code == Code::Error) {
      error = outcome->status.message();
    } else {
      refused.push_back(std::move(outcome));
    }
  }
  if (candidates.empty()) {
    if (!error.empty()) {
      result.status = withPrefix(Status::error(error));
      return result;
    }
    auto reasons = reasonsOf(refused);
    if (diagnosis.totalNodes > potential.size())
      reasons.emplace_back("Preemption is not helpful for scheduling",
                           diagnosis.totalNodes - potential.size());
    result.status = withPrefix(Status::unschedulable(fmt::format(
        "0/{} nodes are available: {}.", diagnosis.totalNodes, reasonsText(std::move(reasons)))));
    result.nomination = {true, ""};
    return result;
  }
  const Extenders* extenders = handle_.extenders();
  if (!extenders || !extenders->confirmPreemptionOf(*pod->pod)) return preempt(pod, candidates);
  PostFilterResult answer;
  answer.later = confirm(pod, std::move(outcomes));
  return answer;
}

PostFilterResult DefaultPreemption::preempt(const PodPtr& pod,
                                            std::span<const Candidate* const> candidates) {
  PostFilterResult result;
  const Candidate& best = *leastHarm(candidates, handle_.executor().wallNow());
  const std::string& node = cluster_.node(best.node).name;
  result.victims = best.victims.size();
  result.nomination = {true, node};
  evictions_.start(pod, node, best.victims, {std::string(kName), handle_.events()});
  return result;
}

Task<PostFilterResult> DefaultPreemption::confirm(PodPtr pod,
                                                  std::vector<DryRunOutcomePtr> outcomes) {
  std::map<std::string, wire::Victims> proposed;
  std::map<std::string, PodPtr> infos;  // by uid
  for (const auto& outcome : outcomes) {
    wire::Victims& victims = proposed[cluster_.node(outcome->candidate.node).name];
    victims.budgetsBroken = outcome->candidate.harm.budgetsBroken;
    for (const PodPtr& victim : outcome->candidate.victims) {
      victims.pods.push_back(victim->pod);
      infos[victim->uid()] = victim;
    }
  }
  auto asking = handle_.extenders()->confirmVictims(pod->pod, std::move(proposed));
  const auto confirmed = co_await asking;
  PostFilterResult result;
  result.victims = 0;
  if (!confirmed) {
    result.status = withPrefix(Status::of(confirmed.error()));
    co_return result;
  }
  const WallTime now = handle_.executor().wallNow();
  std::vector<Candidate> left;
  for (const auto& [name, victims] : *confirmed) {
    const auto node = cluster_.findNode(name);
    if (!node || !cluster_.live().contains(*node)) continue;
    std::vector<PodPtr> leaving;
    for (const auto& victim : victims.pods) leaving.push_back(infos.at(victim->metadata.uid));
    std::ranges::stable_sort(
        leaving, [&](const PodPtr& a, const PodPtr& b) { return moreImportant(*a, *b, now); });
    left.emplace_back(*node, std::move(leaving), victims.budgetsBroken);
  }
  if (left.empty()) {
    result.status = withPrefix(Status::unschedulable("no candidate node for preemption"));
    result.nomination = {true, ""};
    co_return result;
  }
  std::vector<const Candidate*> candidates;
  for (const Candidate& candidate : left) candidates.push_back(&candidate);
  co_return preempt(pod, candidates);
}

std::vector<EventRegistration> DefaultPreemption::eventsToRegister() const {
  // Never by its own account: registered so that a pod held back is looked at when a victim has
  // gone.
  return {{EventResource::Pod, action::kDelete, "",
           [](const PodInfo&, const ClusterEvent&) { return Hint::Skip; }}};
}

}  // namespace koord::scheduler
