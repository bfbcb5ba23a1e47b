#include "koordctl/colocation/statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>

namespace koord::koordctl::colocation {

namespace {

constexpr double kLowest = 1e-4, kRatio = 1.01;
constexpr std::size_t kBuckets = 2315;  // up to 1e6

}  // namespace

WeightedHistogram::WeightedHistogram() : weights_(kBuckets) {}

void WeightedHistogram::add(double value, double weight) {
  static const double logRatio = std::log(kRatio);
  const double bucket = value <= kLowest ? 0 : std::log(value / kLowest) / logRatio;
  weights_[std::min(static_cast<std::size_t>(bucket), kBuckets - 1)] += weight;
  total_ += weight;
  sum_ += value * weight;
}

void WeightedHistogram::add(const WeightedHistogram& other) {
  for (std::size_t n = 0; n < kBuckets; ++n) weights_[n] += other.weights_[n];
  total_ += other.total_;
  sum_ += other.sum_;
}

double WeightedHistogram::percentile(double share) const {
  if (total_ <= 0) return 0;
  double below = 0;
  std::size_t bucket = 0;
  while (bucket + 1 < kBuckets && (below += weights_[bucket]) < share * total_) ++bucket;
  return kLowest * std::pow(kRatio, static_cast<double>(bucket + 1));
}

Estimate estimate(std::span<const double> values) {
  Estimate result;
  if (values.empty()) return result;
  const auto count = static_cast<double>(values.size());
  for (const double value : values) result.mean += value / count;
  if (values.size() < 2) return result;
  double squares = 0;
  for (const double value : values) squares += (value - result.mean) * (value - result.mean);
  const double t = boost::math::quantile(boost::math::students_t(count - 1), 0.975);
  result.halfWidth = t * std::sqrt(squares / (count - 1) / count);
  return result;
}

std::string toText(const Estimate& estimate, int digits, std::string_view plusMinus) {
  if (estimate.halfWidth == 0) return fmt::format("{:.{}f}", estimate.mean, digits);
  return fmt::format("{:.{}f} {} {:.{}f}", estimate.mean, digits, plusMinus, estimate.halfWidth,
                     digits);
}

Estimate estimateOfDifference(std::span<const double> values, std::span<const double> base) {
  std::vector<double> differences;
  for (std::size_t n = 0; n < std::min(values.size(), base.size()); ++n)
    differences.push_back(values[n] - base[n]);
  return estimate(differences);
}

}  // namespace koord::koordctl::colocation
