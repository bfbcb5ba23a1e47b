#include "scheduler/plugins/nodenumaresource/numa_score.h"

#include <algorithm>

namespace koord::scheduler {

ZoneScorer::ZoneScorer(ResourceNames& names, const ScoringStrategy& strategy)
    : most_(strategy.type == ScoringStrategy::Type::MostAllocated) {
  for (const ResourceWeight& resource : strategy.resources)
    resources_.push_back({names.intern(resource.name), resource.weight});
}

void ZoneScorer::Mean::add(std::int64_t requested, std::int64_t capacity, std::int64_t weight) {
  if (capacity <= 0) return;
  std::int64_t part = 0;
  if (most_) {
    part = std::clamp<std::int64_t>(requested, 0, capacity);
  } else if (requested <= capacity) {
    part = capacity - std::max<std::int64_t>(requested, 0);
  }
  // Doubles are exact here: percents of amounts below 2^46 are told apart from whole numbers.
  constexpr std::int64_t kExact = std::int64_t{1} << 46;
  const std::int64_t percent =
      capacity < kExact ? static_cast<std::int64_t>(static_cast<double>(part * 100) /
                                                    static_cast<double>(capacity))
                        : static_cast<std::int64_t>(static_cast<__int128>(part) * 100 / capacity);
  sum_ += percent * weight;
  weights_ += weight;
}

}  // namespace koord::scheduler
