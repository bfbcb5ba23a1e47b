#pragma once

// Candidate: a node on which the pod would fit without some pods of lower priority, and the
// selection among candidates.

#include <span>
#include <vector>

#include "scheduler/engine/node_set.h"
#include "scheduler/engine/pod_info.h"

namespace koord::scheduler {

// The values by which candidates are compared. Computed once for each: a burst of pods compares the
// same candidates repeatedly.
struct PreemptionCost {
  std::int64_t budgetsBroken = 0;
  std::int32_t highest = 0;  // highest priority of the victims
  std::int64_t sum = 0;  // sum of the priorities, shifted so that more victims never look better
  std::size_t victims = 0;
  // Of the victims of highest priority: the earliest start time, and whether some have not started.
  WallTime earliest = WallTime::max();
  bool unstarted = false;
  // Until this time the node counts as free: all victims already terminate for a preemption, and
  // the node is not nominated for another pod. Victims that take longer are blocked.
  WallTime victimsGoneUntil = WallTime::min();
};

// When all of the victims should have terminated; WallTime::min() if one of them is not being
// preempted yet.
WallTime victimsGoneAt(std::span<const PodPtr> victims);

struct Candidate {
  NodeId node = kNoNode;
  std::vector<PodPtr> victims;  // most important first
  PreemptionCost cost;          // of the victims

  Candidate() = default;
  // Requires at least one victim. budgetsBroken: number of victims whose eviction would violate a
  // budget.
  Candidate(NodeId at, std::vector<PodPtr> chosen, std::int64_t budgetsBroken);
};

// The pod's start time; `now` if it has not started.
WallTime startOf(const PodInfo& pod, WallTime now);
// Higher priority, then longer running.
bool moreImportant(const PodInfo& a, const PodInfo& b, WallTime now);

// The candidate of the lowest cost. Criteria in order: no new evictions needed; fewest
// violated budgets; lowest highest victim priority; smallest sum of priorities; fewest victims;
// latest start of the most important victim; first in the list.
const Candidate* leastCost(std::span<const Candidate* const> candidates, WallTime now);

}  // namespace koord::scheduler
