#include "scheduler/preemption/candidate.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "scheduler/preemption/rules.h"

namespace koord::scheduler {

WallTime startOf(const PodInfo& pod, WallTime now) {
  return pod.pod->status.startTime.value_or(now);
}

bool moreImportant(const PodInfo& a, const PodInfo& b, WallTime now) {
  if (a.priority != b.priority) return a.priority > b.priority;
  return startOf(a, now) < startOf(b, now);
}

WallTime victimsGoneAt(std::span<const PodPtr> victims) {
  constexpr Duration kGrace =
      std::chrono::minutes(1);  // after deletionTimestamp, the latest regular end
  WallTime until = WallTime::min();
  for (const PodPtr& victim : victims) {
    if (!terminatesByPreemption(*victim->pod)) return WallTime::min();
    until = std::max(until, *victim->pod->metadata.deletionTimestamp + kGrace);
  }
  return until;
}

Candidate::Candidate(NodeId at, std::vector<PodPtr> chosen, std::int64_t budgetsBroken)
    : node(at), victims(std::move(chosen)) {
  cost = {.budgetsBroken = budgetsBroken,
          .highest = victims.front()->priority,
          .victims = victims.size()};
  for (const PodPtr& victim : victims) {
    cost.sum += std::int64_t{victim->priority} + (std::int64_t{1} << 31);
    if (victim->priority != cost.highest) continue;
    const auto& start = victim->pod->status.startTime;
    if (start) cost.earliest = std::min(cost.earliest, *start);
    cost.unstarted |= !start;
  }
}

const Candidate* leastCost(std::span<const Candidate* const> candidates, WallTime now) {
  const auto key = [&](const PreemptionCost& cost) {  // smaller is better
    const WallTime earliest = cost.unstarted ? std::min(cost.earliest, now) : cost.earliest;
    return std::tuple(cost.victimsGoneUntil < now, cost.budgetsBroken, cost.highest, cost.sum,
                      cost.victims, -earliest.time_since_epoch().count());
  };
  return *std::ranges::min_element(
      candidates, {}, [&](const Candidate* candidate) { return key(candidate->cost); });
}

}  // namespace koord::scheduler
