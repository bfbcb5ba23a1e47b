#pragma once

// Candidate: a node on which the pod would fit if some pods of lower priority left, and the choice
// among candidates.

#include <span>
#include <vector>

#include "scheduler/engine/node_set.h"
#include "scheduler/engine/pod_info.h"

namespace koord::scheduler {

// What candidates are compared by. Worked out once for each: a burst of pods compares the same ones
// again and again.
struct Harm {
  std::int64_t budgetsBroken = 0;
  std::int32_t highest = 0;  // of the victims' priorities
  std::int64_t sum = 0;      // of them, shifted so that more victims never look better than fewer
  std::size_t victims = 0;
  // Of the victims of highest priority: when the first one began to run, and whether some have not.
  WallTime earliest = WallTime::max();
  bool unstarted = false;
  // Until then the node is as good as free: all victims leave for a preemption already, and the room is
  // promised to nobody. Those that take longer have met an obstacle.
  WallTime vacatedUntil = WallTime::min();
};

// When all of the victims should have left; WallTime::min() when one of them does not leave for a preemption
// yet.
WallTime vacatedBy(std::span<const PodPtr> victims);

struct Candidate {
  NodeId node = kNoNode;
  std::vector<PodPtr> victims;  // most important first
  Harm harm;                    // of them

  Candidate() = default;
  // There is a victim; budgetsBroken: of how many the disruption budget does not allow it.
  Candidate(NodeId at, std::vector<PodPtr> leaving, std::int64_t budgetsBroken);
};

// When the pod began to run; `now` for one that has not.
WallTime startOf(const PodInfo& pod, WallTime now);
// Higher priority, then longer running.
bool moreImportant(const PodInfo& a, const PodInfo& b, WallTime now);

// The candidate that hurts least: nobody has to be told to leave; fewest broken budgets; lowest of the highest victim priorities;
// smallest sum of priorities; fewest victims; the most important victim started latest; first in
// the list.
const Candidate* leastHarm(std::span<const Candidate* const> candidates, WallTime now);

}  // namespace koord::scheduler
