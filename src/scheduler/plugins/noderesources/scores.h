#pragma once

// How well a node's resources suit a pod, as pure functions: amounts are what is allocatable and what is
// requested with the pod; scores are 0 to 100.

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "scheduler/plugins/noderesources/args.h"

namespace koord::scheduler {

// The free share; 0 when overcommitted. allocatable > 0.
std::int64_t leastAllocatedScore(std::int64_t requested, std::int64_t allocatable);
// The used share; 100 when overcommitted.
std::int64_t mostAllocatedScore(std::int64_t requested, std::int64_t allocatable);

// A line through points, flat beyond both ends.
class BrokenLine {
 public:
  // x must increase strictly.
  explicit BrokenLine(std::vector<std::pair<std::int64_t, std::int64_t>> points)
      : points_(std::move(points)) {}
  std::int64_t at(std::int64_t x) const;

 private:
  std::vector<std::pair<std::int64_t, std::int64_t>> points_;
};

// 100 when all fractions (0 to 1) are equal, less the more they differ.
std::int64_t balanceScore(std::span<const double> fractions);
inline std::int64_t balanceScore(double one, double other) {
  return static_cast<std::int64_t>((1 - std::abs((one - other) / 2)) * 100);
}

}  // namespace koord::scheduler
