#include "koordctl/colocation/statistics.h"

#include <gtest/gtest.h>

#include <cmath>

namespace koord::koordctl::colocation {
namespace {

TEST(ColocationStatisticsTest, percentiles_are_within_a_bucket) {
  WeightedHistogram histogram;
  EXPECT_EQ(histogram.percentile(0.5), 0);
  for (int n = 1; n <= 1000; ++n) histogram.add(n, 1);
  EXPECT_NEAR(histogram.percentile(0.5), 500, 10);
  EXPECT_NEAR(histogram.percentile(0.99), 990, 20);
  EXPECT_DOUBLE_EQ(histogram.mean(), 500.5);
  histogram.add(1e9, 1);  // beyond the last bucket
  EXPECT_GT(histogram.percentile(1), 9e5);
}

TEST(ColocationStatisticsTest, weights_count) {
  WeightedHistogram histogram, heavy;
  histogram.add(1, 1);
  heavy.add(100, 9);
  histogram.add(heavy);
  EXPECT_NEAR(histogram.percentile(0.05), 1, 0.02);
  EXPECT_NEAR(histogram.percentile(0.5), 100, 2);
}

TEST(ColocationStatisticsTest, confidence_intervals_are_students) {
  const std::vector<double> values{1, 2, 3};
  EXPECT_DOUBLE_EQ(estimate(values).mean, 2);
  EXPECT_NEAR(estimate(values).halfWidth, 4.303 / std::sqrt(3.0), 1e-3);
  EXPECT_EQ(estimate(std::vector<double>{5}).halfWidth, 0);
  const std::vector<double> base{0, 1, 2};
  EXPECT_DOUBLE_EQ(estimateOfDifference(values, base).mean, 1);
  EXPECT_NEAR(estimateOfDifference(values, base).halfWidth, 0, 1e-12) << "paired by seed";
}

}  // namespace
}  // namespace koord::koordctl::colocation
