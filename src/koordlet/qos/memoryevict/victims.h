#pragma once

// How much memory to release, and which pods are evicted first: among BE pods (BEMemoryEvict),
// among all pods up to a priority that allow it (MemoryEvict), and among the same pods when their
// requests exceed the node's allocatable (MemoryAllocatableEvict).

#include <optional>
#include <vector>

#include "api/core.h"
#include "api/slo.h"
#include "base/result.h"
#include "koordlet/qos/evictor/priority_victims.h"

namespace koord::koordlet::memoryevict {

using MemoryUser = PodUse;  // bytes

// By usage: memoryEvictThresholdPercent and memoryEvictLowerPercent (threshold - 2 if absent).
struct Release {
  std::int64_t usedPercent = 0;
  std::int64_t thresholdPercent = 0;
  std::int64_t lowerPercent = 0;
  std::int64_t bytes = 0;  // 0 = below the threshold
};
// Returns an error if the two do not fit together.
Result<> checkUsedThresholds(const api::ResourceThresholdStrategy& strategy);
Release releaseByUsed(const api::ResourceThresholdStrategy& strategy, std::int64_t usedBytes,
                      std::int64_t capacityBytes);

// By requests: for each kind of memory (memory, batch-memory, mid-memory), if the requests of pods
// up to allocatableEvictPriorityThreshold exceed memoryAllocatableEvictThresholdPercent (110) of
// the node's allocatable, the amount down to memoryAllocatableEvictLowerPercent (100). Omits kinds
// within the bounds.
Result<> checkAllocatableThresholds(const api::ResourceThresholdStrategy& strategy);
Amounts releaseByAllocatable(const api::ResourceThresholdStrategy& strategy,
                             const api::ResourceList& allocatable,
                             const std::vector<MemoryUser>& pods);

// Victims in the order of eviction: by priority where both pods have one and they differ, else the
// larger user first; pods without a sample last.
std::vector<EvictionCandidate> bestEffortVictims(std::vector<MemoryUser> pods);

}  // namespace koord::koordlet::memoryevict
