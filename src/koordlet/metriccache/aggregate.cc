#include "koordlet/metriccache/aggregate.h"

#include <algorithm>
#include <numeric>

namespace koord::koordlet {
namespace {

double percentile(std::span<const double> sorted, float p) {
  const auto rank = static_cast<std::ptrdiff_t>(static_cast<float>(sorted.size()) * p);
  return sorted[static_cast<std::size_t>(std::max<std::ptrdiff_t>(rank - 1, 0))];
}

}  // namespace

Aggregates aggregate(std::vector<double> values) {
  return aggregateInPlace(values);
}

Aggregates aggregateInPlace(std::span<double> values) {
  Aggregates result;
  result.count = values.size();
  result.last = values.back();
  result.avg =
      std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  std::ranges::sort(values);
  result.p50 = percentile(values, 0.5F);
  result.p90 = percentile(values, 0.9F);
  result.p95 = percentile(values, 0.95F);
  result.p99 = percentile(values, 0.99F);
  return result;
}

}  // namespace koord::koordlet
