#pragma once

// Percentiles of many values, and confidence intervals over seeds.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace koord::koordctl::colocation {

// A histogram of weighted values from 1e-4 to 1e6 with buckets of 1 %; values outside count as the
// nearest bucket. A percentile is the upper end of its bucket.
class WeightedHistogram {
 public:
  WeightedHistogram();
  void add(double value, double weight);
  void add(const WeightedHistogram& other);
  // share: 0 to 1. 0 if the histogram is empty.
  double percentile(double share) const;
  double mean() const { return total_ > 0 ? sum_ / total_ : 0; }
  double total() const { return total_; }

 private:
  std::vector<double> weights_;
  double total_ = 0, sum_ = 0;
};

class Mean {
 public:
  void add(double value, double weight = 1) {
    sum_ += value * weight;
    weight_ += weight;
  }
  double value() const { return weight_ > 0 ? sum_ / weight_ : 0; }

 private:
  double sum_ = 0, weight_ = 0;
};

// The mean of a figure over seeds and the half width of its 95 % confidence interval (Student's t);
// 0 with one seed.
struct Estimate {
  double mean = 0;
  double halfWidth = 0;
};
// "1.5 +- 0.2", or "1.5" if the half width is 0.
std::string toText(const Estimate& estimate, int digits, std::string_view plusMinus);
Estimate estimate(std::span<const double> values);
// The same of the differences, for runs with the same seeds in both.
Estimate estimateOfDifference(std::span<const double> values, std::span<const double> base);

}  // namespace koord::koordctl::colocation
