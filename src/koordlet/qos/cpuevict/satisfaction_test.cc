#include "koordlet/qos/cpuevict/satisfaction.h"

#include <gtest/gtest.h>

namespace koord::koordlet {
namespace {

api::ResourceThresholdStrategy satisfactionThresholds() {
  api::ResourceThresholdStrategy strategy;
  strategy.cpuEvictBESatisfactionLowerPercent = 60;
  strategy.cpuEvictBESatisfactionUpperPercent = 80;
  return strategy;
}

TEST(CpuSatisfactionTest, pods_are_released_while_average_and_newest_samples_are_starved) {
  const auto strategy = satisfactionThresholds();
  const cpuevict::BestEffortUse starved{4800, 10'000, 5000}, worse{3900, 10'000, 4000},
      satisfied{4800, 10'000, 9000};
  EXPECT_EQ(cpuevict::toRelease(starved, starved, strategy), 3000) << "(80 % - 50 %) x 10 cores";
  EXPECT_EQ(cpuevict::toRelease(starved, worse, strategy), 3000) << "the smaller amount";
  EXPECT_EQ(cpuevict::toRelease(worse, starved, strategy), 3000);
  EXPECT_EQ(cpuevict::toRelease(starved, satisfied, strategy), 0) << "it is over";
  EXPECT_EQ(cpuevict::toRelease(satisfied, starved, strategy), 0) << "it has just begun";
  EXPECT_EQ(cpuevict::toRelease(starved, std::nullopt, strategy), 0) << "no newest sample";
}

}  // namespace
}  // namespace koord::koordlet
