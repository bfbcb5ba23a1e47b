#include "koordlet/qos/memoryevict/victims.h"

#include <fmt/core.h>

#include <algorithm>

namespace koord::koordlet::memoryevict {

Result<Release> computeRelease(const api::ResourceThresholdStrategy& strategy,
                               std::int64_t usedBytes, std::int64_t capacityBytes) {
  if (!strategy.memoryEvictThresholdPercent)
    return fail(ErrorCode::Invalid, "memoryEvictThresholdPercent is not set");
  Release release;
  release.thresholdPercent = *strategy.memoryEvictThresholdPercent;
  release.lowerPercent = strategy.memoryEvictLowerPercent.value_or(release.thresholdPercent - 2);
  if (release.thresholdPercent < 0 || release.thresholdPercent > 100)
    return fail(ErrorCode::Invalid,
                fmt::format("memoryEvictThresholdPercent {} is not within 0..100",
                            release.thresholdPercent));
  if (release.lowerPercent >= release.thresholdPercent)
    return fail(
        ErrorCode::Invalid,
        fmt::format("memoryEvictLowerPercent {} is not below memoryEvictThresholdPercent {}",
                    release.lowerPercent, release.thresholdPercent));
  if (capacityBytes <= 0) return fail(ErrorCode::Invalid, "the node has no memory capacity");
  // Whole percents, as the thresholds are; 128 bits because a petabyte times a hundred needs them
  // nearly.
  release.usedPercent =
      static_cast<std::int64_t>(static_cast<__int128>(usedBytes) * 100 / capacityBytes);
  if (release.usedPercent < release.thresholdPercent) return release;
  release.bytes = static_cast<std::int64_t>(static_cast<__int128>(capacityBytes) *
                                            (release.usedPercent - release.lowerPercent) / 100);
  return release;
}

std::vector<EvictionCandidate> bestEffortVictims(std::vector<MemoryUser> pods) {
  // Pods with and without priority do not form one order, so the sort must be one that bears it.
  std::ranges::stable_sort(pods, [](const MemoryUser& a, const MemoryUser& b) {
    const auto& left = a.pod->spec.priority;
    const auto& right = b.pod->spec.priority;
    if (left && right && *left != *right) return *left < *right;
    if (a.usedBytes && b.usedBytes) return *a.usedBytes > *b.usedBytes;
    if (!a.usedBytes && !b.usedBytes) return a.pod->metadata.name > b.pod->metadata.name;
    return a.usedBytes.has_value();
  });
  std::vector<EvictionCandidate> victims;
  for (auto& user : pods) victims.push_back({std::move(user.pod), user.usedBytes.value_or(0)});
  return victims;
}

}  // namespace koord::koordlet::memoryevict
