#pragma once

// AllocationRule: the parameters of a score that is the weighted mean of what would be free, or
// used, of some resources, for one pod. Plugins with equal rules give equal scores where they count
// the same usage, so that the scores are computed once (ScorePlugin::scoreAlias).

#include <algorithm>
#include <boost/container/small_vector.hpp>
#include <cstdint>

#include "scheduler/engine/resources.h"

namespace koord::scheduler {

class ScorePlugin;
struct PodInfo;

struct AllocationRule {
  struct Part {
    ResourceId id = 0;
    std::int64_t amount = 0;  // that the pod counts with
    std::int64_t weight = 1;
    bool operator==(const Part&) const = default;
  };
  bool prefersUsed = false;
  boost::container::small_vector<Part, 4> parts;

  bool operator==(const AllocationRule& other) const {
    return prefersUsed == other.prefersUsed && std::ranges::is_permutation(parts, other.parts);
  }
};

// A plugin that scores by such rules, with default amounts of cpu and memory for pods that request
// none (Cluster::nonZeroCpu, nonZeroMemory).
class AllocationScorer {
 public:
  virtual ~AllocationScorer() = default;
  // nullptr if it scores the pod by another rule.
  virtual const ScorePlugin* scorerBy(const AllocationRule& rule, const PodInfo& pod) const = 0;
};

}  // namespace koord::scheduler
