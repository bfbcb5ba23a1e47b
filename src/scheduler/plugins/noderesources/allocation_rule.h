#pragma once

// AllocationRule: how a plugin scores nodes for one pod by the weighted mean of what would be free, or used, of some
// resources. Plugins with equal rules give equal scores wherever they count the same as taken, so that one of
// them need not work them out again (ScorePlugin::sharesRule).

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

// A plugin that scores by such rules, where cpu and memory taken by pods that ask for none are guessed
// (Cluster::nonZeroCpu, nonZeroMemory).
class AllocationScorer {
 public:
  virtual ~AllocationScorer() = default;
  // nullptr when it scores the pod by another rule than that.
  virtual const ScorePlugin* scorerBy(const AllocationRule& rule, const PodInfo& pod) const = 0;
};

}  // namespace koord::scheduler
