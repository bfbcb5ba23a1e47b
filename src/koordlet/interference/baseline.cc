#include "koordlet/interference/baseline.h"

#include <algorithm>
#include <cmath>

namespace koord::koordlet {
namespace {

// The least deviation, as a fraction of the mean: a constant metric has no deviation of its own.
constexpr double kMinDeviation = 0.05;

}  // namespace

void Baseline::learn(double value) {
  ++count_;
  // The first values have equal weights, later values the weight kFading.
  const double weight = std::max(1.0 / static_cast<double>(count_), kFading);
  const double difference = value - mean_;
  mean_ += weight * difference;
  variance_ = (1 - weight) * (variance_ + weight * difference * difference);
}

double Baseline::deviation() const {
  return std::max(std::sqrt(variance_), std::abs(mean_) * kMinDeviation);
}

std::optional<double> Baseline::score(double value) const {
  if (!ready()) return std::nullopt;
  const double deviation = this->deviation();
  if (deviation <= 0) return value > mean_ ? 1e9 : 0;
  return (value - mean_) / deviation;
}

}  // namespace koord::koordlet
