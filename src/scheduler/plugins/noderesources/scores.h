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

// part * 100 / whole, also where the product does not fit 64 bits.
inline std::int64_t percentOf(std::int64_t part, std::int64_t whole) {
  // Quotients of integers this small are told apart from whole numbers by doubles, which are
  // several times as fast to divide.
  constexpr std::int64_t kSmall = std::int64_t{1} << 45;
  if (part >= 0 && part < kSmall && whole < kSmall)
    return static_cast<std::int64_t>(static_cast<double>(part * 100) / static_cast<double>(whole));
  return static_cast<std::int64_t>(static_cast<__int128>(part) * 100 / whole);
}

// The free share; 0 when overcommitted. allocatable > 0. Inline, as is the next: they are asked for
// every node and resource.
inline std::int64_t leastAllocatedScore(std::int64_t requested, std::int64_t allocatable) {
  return requested > allocatable ? 0 : percentOf(allocatable - requested, allocatable);
}
// The used share; 100 when overcommitted.
inline std::int64_t mostAllocatedScore(std::int64_t requested, std::int64_t allocatable) {
  return percentOf(std::min(requested, allocatable), allocatable);
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
