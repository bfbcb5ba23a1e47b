#pragma once

// Scores of a node's resources for a pod, as pure functions. The amounts are what is allocatable
// and what is requested including the pod; scores are 0 to 100.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "scheduler/plugins/noderesources/args.h"

namespace koord::scheduler {

// Below this, doubles distinguish quotients of integers from the next integer. Their division is
// several times as fast, and sums of two amounts cannot overflow.
inline constexpr std::int64_t kSmallAmount = std::int64_t{1} << 45;

// part * 100 / whole, where 0 <= part <= whole.
struct SmallPercent {  // whole < kSmallAmount
  std::int64_t operator()(std::int64_t part, std::int64_t whole) const {
    return static_cast<std::int64_t>(static_cast<double>(part * 100) / static_cast<double>(whole));
  }
};
struct AnyPercent {
  std::int64_t operator()(std::int64_t part, std::int64_t whole) const {
    if (whole < kSmallAmount) return SmallPercent()(part, whole);
    return static_cast<std::int64_t>(static_cast<__int128>(part) * 100 / whole);
  }
};

// The free share; 0 if overcommitted. allocatable > 0. Inline, like the next function, because it
// runs for every node and resource.
template <class Percent = AnyPercent>
std::int64_t leastAllocatedScore(std::int64_t requested, std::int64_t allocatable) {
  return Percent()(std::max<std::int64_t>(allocatable - requested, 0), allocatable);
}
// The used share; 100 if overcommitted.
template <class Percent = AnyPercent>
std::int64_t mostAllocatedScore(std::int64_t requested, std::int64_t allocatable) {
  return Percent()(std::min(requested, allocatable), allocatable);
}

// A piecewise linear function through points, constant beyond both ends.
class BrokenLine {
 public:
  // x must increase strictly.
  explicit BrokenLine(std::vector<std::pair<std::int64_t, std::int64_t>> points)
      : points_(std::move(points)) {}
  std::int64_t at(std::int64_t x) const;

 private:
  std::vector<std::pair<std::int64_t, std::int64_t>> points_;
};

// 100 if all fractions (0 to 1) are equal, less the more they differ.
std::int64_t balanceScore(std::span<const double> fractions);
inline std::int64_t balanceScore(double one, double other) {
  return static_cast<std::int64_t>((1 - std::abs((one - other) / 2)) * 100);
}

}  // namespace koord::scheduler
