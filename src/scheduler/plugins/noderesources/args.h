#pragma once

// NodeResourcesFitArgs and NodeResourcesBalancedAllocationArgs.

#include <string>
#include <vector>

#include "scheduler/config/scoring_strategy.h"

namespace koord::scheduler {

enum class ScoringType { LeastAllocated, MostAllocated, RequestedToCapacityRatio };

// The score (0 to 10) at a utilization in percent; interpolated in between.
struct ShapePoint {
  std::int64_t utilization = 0;
  std::int64_t score = 0;
};

struct NodeResourcesFitArgs {
  std::vector<std::string> ignoredResources;
  std::vector<std::string> ignoredResourceGroups;
  ScoringType type = ScoringType::LeastAllocated;
  std::vector<ResourceWeight> resources{{"cpu", 1}, {"memory", 1}};
  std::vector<ShapePoint> shape;

  static NodeResourcesFitArgs read(Fields& fields);
};

// How a node's balance is turned into a score.
enum class BalanceMode {
  AfterPod,     // the balance with the pod: Kubernetes up to 1.35
  Improvement,  // the improvement of the balance by the pod: Kubernetes 1.36
};

struct NodeResourcesBalancedAllocationArgs {
  std::vector<std::string> resources{"cpu", "memory"};
  BalanceMode mode = BalanceMode::AfterPod;

  static NodeResourcesBalancedAllocationArgs read(Fields& fields);
};

}  // namespace koord::scheduler
