#pragma once

// ZoneScorer: how well what a pod asks for suits what there is, as the weighted mean over some
// resources of the share that stays free (LeastAllocated) or is used (MostAllocated).

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

  // Adds one resource after the other to a mean.
  class Mean {
   public:
    explicit Mean(bool most) : most_(most) {}
    // capacity 0: the resource does not count. requested: with the pod.
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

}  // namespace koord::scheduler
