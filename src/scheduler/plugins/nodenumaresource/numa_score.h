#pragma once

// ZoneScorer: scores a request against the free resources: the weighted mean over some resources of
// the part that stays free (LeastAllocated) or is used (MostAllocated).

#include <algorithm>
#include <vector>

#include "scheduler/config/scoring_strategy.h"
#include "scheduler/engine/resources.h"

namespace koord::scheduler {

class ZoneScorer {
 public:
  struct Weighed {
    ResourceId id = 0;
    std::int64_t weight = 1;
  };
  ZoneScorer(ResourceNames& names, const ScoringStrategy& strategy);

  const std::vector<Weighed>& resources() const { return resources_; }
  bool prefersUsed() const { return most_; }

  // Adds the resources to a mean one by one.
  class Mean {
   public:
    explicit Mean(bool most) : most_(most) {}
    // capacity 0: the resource does not count. requested: includes the pod.
    void add(std::int64_t requested, std::int64_t capacity, std::int64_t weight);
    std::int64_t score() const { return weights_ == 0 ? 0 : sum_ / weights_; }

   private:
    bool most_;
    std::int64_t sum_ = 0;
    std::int64_t weights_ = 0;
  };
  Mean mean() const { return Mean(most_); }

 private:
  std::vector<Weighed> resources_;
  bool most_ = false;
};

// Inline because it runs for every node and resource.
inline void ZoneScorer::Mean::add(std::int64_t requested, std::int64_t capacity,
                                  std::int64_t weight) {
  if (capacity <= 0) return;
  std::int64_t part = 0;
  if (most_) {
    part = std::clamp<std::int64_t>(requested, 0, capacity);
  } else if (requested <= capacity) {
    part = capacity - std::max<std::int64_t>(requested, 0);
  }
  // Doubles are exact here: percents of amounts below 2^46 differ from the next integer by more
  // than the rounding error.
  constexpr std::int64_t kExact = std::int64_t{1} << 46;
  const std::int64_t percent =
      capacity < kExact ? static_cast<std::int64_t>(static_cast<double>(part * 100) /
                                                    static_cast<double>(capacity))
                        : static_cast<std::int64_t>(static_cast<__int128>(part) * 100 / capacity);
  sum_ += percent * weight;
  weights_ += weight;
}

}  // namespace koord::scheduler
