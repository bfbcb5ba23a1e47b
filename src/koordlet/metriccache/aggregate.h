#pragma once

// Aggregates over a window of samples, as upstream computes them: the percentile p of n sorted
// samples is the one at index trunc(float32(n) * p) - 1, at least 0, so small windows lean low (of
// two, the lower).

#include <cstddef>
#include <span>
#include <vector>

namespace koord::koordlet {

struct Aggregates {
  double avg = 0;
  double p50 = 0;
  double p90 = 0;
  double p95 = 0;
  double p99 = 0;
  double last = 0;
  std::size_t count = 0;
};

// In time order; must not be empty.
Aggregates aggregate(std::vector<double> values);
// The same, and sorts them.
Aggregates aggregateInPlace(std::span<double> values);

}  // namespace koord::koordlet
