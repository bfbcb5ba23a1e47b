#pragma once

// How well a node's resources suit a pod, as pure functions: amounts are what is allocatable and
// what is requested with the pod; scores are 0 to 100.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "scheduler/plugins/noderesources/args.h"

namespace koord::scheduler {

// Quotients of integers below this are told apart from whole numbers by doubles, which are several
// times as fast to divide; sums of two of them are far from overflowing.
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

// The free share; 0 when overcommitted. allocatable > 0. Inline, as is the next: they are asked for
// every node and resource.
template <class Percent = AnyPercent>
std::int64_t leastAllocatedScore(std::int64_t requested, std::int64_t allocatable) {
  return Percent()(std::max<std::int64_t>(allocatable - requested, 0), allocatable);
}
// The used share; 100 when overcommitted.
template <class Percent = AnyPercent>
std::int64_t mostAllocatedScore(std::int64_t requested, std::int64_t allocatable) {
  return Percent()(std::min(requested, allocatable), allocatable);
}

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
