#pragma once

// How much memory has to be given back, and which pods go first: for best effort alone
// (BEMemoryEvict), for every pod below a priority that allows it (MemoryEvict), and for the same
// pods when more was promised to them than the node has (MemoryAllocatableEvict).

#include <optional>
#include <vector>

#include "api/core.h"
#include "api/slo.h"
#include "base/result.h"
#include "koordlet/qos/evictor/priority_victims.h"

namespace koord::koordlet::memoryevict {

using MemoryUser = PodUse;  // bytes

// By usage: memoryEvictThresholdPercent and memoryEvictLowerPercent (threshold - 2 when absent).
struct Release {
  std::int64_t usedPercent = 0;
  std::int64_t thresholdPercent = 0;
  std::int64_t lowerPercent = 0;
  std::int64_t bytes = 0;  // 0 = below the threshold
};
// An error when the two make no sense together.
Result<> checkUsedThresholds(const api::ResourceThresholdStrategy& strategy);
Release releaseByUsed(const api::ResourceThresholdStrategy& strategy, std::int64_t usedBytes,
                      std::int64_t capacityBytes);

// By promises: for each kind of memory (memory, batch-memory, mid-memory), what pods up to
// allocatableEvictPriorityThreshold have requested beyond memoryAllocatableEvictThresholdPercent
// (110) of what the node has, down to memoryAllocatableEvictLowerPercent (100). Kinds within bounds
// are left out.
Result<> checkAllocatableThresholds(const api::ResourceThresholdStrategy& strategy);
Amounts releaseByAllocatable(const api::ResourceThresholdStrategy& strategy,
                             const api::ResourceList& allocatable,
                             const std::vector<MemoryUser>& pods);

// First to go first: by priority where both pods have one and they differ, else the larger user;
// pods without a sample last.
std::vector<EvictionCandidate> bestEffortVictims(std::vector<MemoryUser> pods);

}  // namespace koord::koordlet::memoryevict
