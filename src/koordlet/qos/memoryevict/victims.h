#pragma once

// How much memory best effort has to give back, and which pods go first.

#include <optional>
#include <vector>

#include "api/slo.h"
#include "base/result.h"
#include "koordlet/qos/evictor/evictor.h"

namespace koord::koordlet::memoryevict {

struct Release {
  std::int64_t usedPercent = 0;
  std::int64_t thresholdPercent = 0;
  std::int64_t lowerPercent = 0;
  std::int64_t bytes = 0;  // 0 = below the threshold
};
// From memoryEvictThresholdPercent and memoryEvictLowerPercent (threshold - 2 when absent). An
// error when they make no sense together.
Result<Release> computeRelease(const api::ResourceThresholdStrategy& strategy,
                               std::int64_t usedBytes, std::int64_t capacityBytes);

struct MemoryUser {
  std::shared_ptr<const api::Pod> pod;
  std::optional<std::int64_t> usedBytes;  // absent without a sample
};
// First to go first: by priority where both pods have one and they differ, else the larger user;
// pods without a sample last.
std::vector<EvictionCandidate> bestEffortVictims(std::vector<MemoryUser> pods);

}  // namespace koord::koordlet::memoryevict
