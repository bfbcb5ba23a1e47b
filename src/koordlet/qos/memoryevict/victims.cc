#include "koordlet/qos/memoryevict/victims.h"

#include <algorithm>

#include "model/well_known.h"

namespace koord::koordlet::memoryevict {
namespace {

constexpr std::int64_t kRequestedUpper = 110, kRequestedLower = 100;  // percent

std::int64_t lowerOf(const api::ResourceThresholdStrategy& strategy) {
  return strategy.memoryEvictLowerPercent.value_or(
      strategy.memoryEvictThresholdPercent.value_or(0) - 2);
}

}  // namespace

Result<> checkUsedThresholds(const api::ResourceThresholdStrategy& strategy) {
  const auto bounds = usageBounds("memoryEvict", strategy.memoryEvictThresholdPercent,
                                  strategy.memoryEvictLowerPercent);
  if (!bounds) return fail(bounds.error());
  return {};
}

Release releaseByUsed(const api::ResourceThresholdStrategy& strategy, std::int64_t usedBytes,
                      std::int64_t capacityBytes) {
  Release release;
  release.thresholdPercent = strategy.memoryEvictThresholdPercent.value_or(0);
  release.lowerPercent = lowerOf(strategy);
  if (capacityBytes <= 0) return release;
  // Whole percents, as the thresholds are. 128 bits: petabytes times a hundred do not fit 64.
  release.usedPercent =
      static_cast<std::int64_t>(static_cast<__int128>(usedBytes) * 100 / capacityBytes);
  if (release.usedPercent < release.thresholdPercent) return release;
  release.bytes = static_cast<std::int64_t>(static_cast<__int128>(capacityBytes) *
                                            (release.usedPercent - release.lowerPercent) / 100);
  return release;
}

Result<> checkAllocatableThresholds(const api::ResourceThresholdStrategy& strategy) {
  const auto bounds =
      requestBounds("memoryAllocatableEvict",
                    strategy.memoryAllocatableEvictThresholdPercent.value_or(kRequestedUpper),
                    strategy.memoryAllocatableEvictLowerPercent.value_or(kRequestedLower),
                    strategy.allocatableEvictPriorityThreshold);
  if (!bounds) return fail(bounds.error());
  return {};
}

Amounts releaseByAllocatable(const api::ResourceThresholdStrategy& strategy,
                             const api::ResourceList& allocatable,
                             const std::vector<MemoryUser>& pods) {
  const RequestBounds bounds{
      strategy.memoryAllocatableEvictThresholdPercent.value_or(kRequestedUpper),
      strategy.memoryAllocatableEvictLowerPercent.value_or(kRequestedLower),
      strategy.allocatableEvictPriorityThreshold.value_or(0)};
  if (bounds.thresholdPercent < 0 || !strategy.allocatableEvictPriorityThreshold) return {};
  return releaseByRequests(model::kMemory, bounds, allocatable, pods);
}

std::vector<EvictionCandidate> bestEffortVictims(std::vector<MemoryUser> pods) {
  // Pods with and without priority are no strict weak order. stable_sort tolerates that, std::sort
  // does not.
  std::ranges::stable_sort(pods, [](const MemoryUser& a, const MemoryUser& b) {
    const auto& left = a.pod->spec.priority;
    const auto& right = b.pod->spec.priority;
    if (left && right && *left != *right) return *left < *right;
    if (a.used && b.used) return *a.used > *b.used;
    if (!a.used && !b.used) return a.pod->metadata.name > b.pod->metadata.name;
    return a.used.has_value();
  });
  std::vector<EvictionCandidate> victims;
  for (auto& user : pods)
    victims.push_back(
        {std::move(user.pod), {{std::string(model::kMemory), user.used.value_or(0)}}});
  return victims;
}

}  // namespace koord::koordlet::memoryevict
