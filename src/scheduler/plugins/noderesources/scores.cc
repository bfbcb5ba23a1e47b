#include "scheduler/plugins/noderesources/scores.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace koord::scheduler {

namespace {

// part * 100 / whole, also where the product does not fit 64 bits.
std::int64_t percentOf(std::int64_t part, std::int64_t whole) {
  // Quotients of integers this small are told apart from whole numbers by doubles, which are
  // several times as fast to divide.
  constexpr std::int64_t kSmall = std::int64_t{1} << 45;
  if (part >= 0 && part < kSmall && whole < kSmall)
    return static_cast<std::int64_t>(static_cast<double>(part * 100) / static_cast<double>(whole));
  if (part <= std::numeric_limits<std::int64_t>::max() / 100 &&
      part >= std::numeric_limits<std::int64_t>::min() / 100) {
    return part * 100 / whole;
  }
  return static_cast<std::int64_t>(static_cast<__int128>(part) * 100 / whole);
}

}  // namespace

std::int64_t leastAllocatedScore(std::int64_t requested, std::int64_t allocatable) {
  return requested > allocatable ? 0 : percentOf(allocatable - requested, allocatable);
}

std::int64_t mostAllocatedScore(std::int64_t requested, std::int64_t allocatable) {
  return percentOf(std::min(requested, allocatable), allocatable);
}

std::int64_t BrokenLine::at(std::int64_t x) const {
  for (std::size_t i = 0; i < points_.size(); ++i) {
    const auto [x1, y1] = points_[i];
    if (x > x1) continue;
    if (i == 0) return y1;
    const auto [x0, y0] = points_[i - 1];
    return y0 + (y1 - y0) * (x - x0) / (x1 - x0);
  }
  return points_.empty() ? 0 : points_.back().second;
}

std::int64_t balanceScore(std::span<const double> fractions) {
  if (fractions.size() == 2) return balanceScore(fractions[0], fractions[1]);
  double deviation = 0;
  if (fractions.size() > 2) {
    double sum = 0;
    for (const double fraction : fractions) sum += fraction;
    const double mean = sum / static_cast<double>(fractions.size());
    double squares = 0;
    for (const double fraction : fractions) squares += (fraction - mean) * (fraction - mean);
    deviation = std::sqrt(squares / static_cast<double>(fractions.size()));
  }
  return static_cast<std::int64_t>((1 - deviation) * 100);
}

}  // namespace koord::scheduler
