#pragma once

// Aggregates over a window of samples, as upstream computes them: the percentile p of n sorted
// samples is the sample at index trunc(float32(n) * p) - 1, at least 0. Small windows therefore
// give low values: of two samples, the lower.

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

// `values` are in time order and must not be empty.
Aggregates aggregate(std::vector<double> values);
// The same without a copy: sorts `values`.
Aggregates aggregateInPlace(std::span<double> values);

}  // namespace koord::koordlet
