#include "scheduler/preemption/candidate.h"

#include <tuple>

namespace koord::scheduler {

WallTime startOf(const PodInfo& pod, WallTime now) {
  return pod.pod->status.startTime.value_or(now);
}

bool moreImportant(const PodInfo& a, const PodInfo& b, WallTime now) {
  if (a.priority != b.priority) return a.priority > b.priority;
  return startOf(a, now) < startOf(b, now);
}

const Candidate* leastHarm(std::span<const Candidate* const> candidates, WallTime now) {
  // Smaller is better. Priorities are shifted so that more victims never look better than fewer.
  const auto harm = [&](const Candidate& candidate) {
    const std::int32_t highest = candidate.victims.front()->priority;
    std::int64_t sum = 0;
    WallTime earliest = WallTime::max();
    for (const PodPtr& victim : candidate.victims) {
      sum += std::int64_t{victim->priority} + (std::int64_t{1} << 31);
      if (victim->priority == highest) earliest = std::min(earliest, startOf(*victim, now));
    }
    return std::tuple(candidate.budgetsBroken, highest, sum, candidate.victims.size(),
                      -earliest.time_since_epoch().count());
  };
  const Candidate* best = nullptr;
  decltype(harm(*candidates.front())) least;
  for (const Candidate* candidate : candidates) {
    const auto own = harm(*candidate);
    if (best && !(own < least)) continue;
    best = candidate;
    least = own;
  }
  return best;
}

}  // namespace koord::scheduler
