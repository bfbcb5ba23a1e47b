#include "scheduler/plugins/defaultpreemption/plugin.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "scheduler/extender/extenders.h"
#include "scheduler/framework/diagnosis.h"

namespace koord::scheduler {

Status DefaultPreemption::preEnqueue(const PodInfo& pod) {
  if (!evictions_.mustWait(pod.uid())) return {};
  return Status::unresolvable("waiting for the preemption for this pod to be finished");
}

PostFilterResult DefaultPreemption::postFilter(CycleState& state, const PodPtr& pod,
                                               const Diagnosis& diagnosis) {
  if (std::string why = preemption_.ineligibleReason(*pod, diagnosis); !why.empty())
    return PodPreemption::refusal(std::move(why));
  PodPreemption::Found found = preemption_.find(state, pod, diagnosis);
  if (found.candidates.empty()) return std::move(found.none);
  const Extenders* extenders = handle_.extenders();
  if (!extenders || !extenders->confirmPreemptionOf(*pod->pod))
    return preemption_.execute(pod, found.candidates);
  PostFilterResult answer;
  answer.later = confirm(pod, std::move(found.outcomes));
  return answer;
}

Task<PostFilterResult> DefaultPreemption::confirm(PodPtr pod,
                                                  std::vector<DryRunOutcomePtr> outcomes) {
  std::map<std::string, wire::Victims> proposed;
  std::map<std::string, PodPtr> infos;  // by uid
  for (const auto& outcome : outcomes) {
    wire::Victims& victims = proposed[cluster_.node(outcome->candidate.node).name];
    victims.budgetsBroken = outcome->candidate.cost.budgetsBroken;
    for (const PodPtr& victim : outcome->candidate.victims) {
      victims.pods.push_back(victim->pod);
      infos[victim->uid()] = victim;
    }
  }
  const auto waits = [&] { return handle_.knownPods().ours().contains(pod->uid()); };
  const bool waited = waits();
  auto asking = handle_.extenders()->confirmVictims(pod->pod, std::move(proposed));
  const auto confirmed = co_await asking;
  PostFilterResult result;
  result.victims = 0;
  if (waited && !waits()) {
    result.status = PodPreemption::prefixed(Status::unschedulable("the pod was deleted"));
    co_return result;
  }
  if (!confirmed) {
    result.status = PodPreemption::prefixed(Status::of(confirmed.error()));
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
    result.status =
        PodPreemption::prefixed(Status::unschedulable("no candidate node for preemption"));
    result.nomination = {true, ""};
    co_return result;
  }
  std::vector<const Candidate*> candidates;
  for (const Candidate& candidate : left) candidates.push_back(&candidate);
  co_return preemption_.execute(pod, candidates);
}

std::vector<EventRegistration> DefaultPreemption::eventsToRegister() const {
  // Not for its own verdicts: registered so that a pod held back is checked when a victim is gone.
  return {{EventResource::Pod, action::kDelete, "",
           [](const PodInfo&, const ClusterEvent&) { return Hint::Skip; }}};
}

}  // namespace koord::scheduler
