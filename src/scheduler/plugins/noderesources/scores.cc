#include "scheduler/plugins/noderesources/scores.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace koord::scheduler {

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
