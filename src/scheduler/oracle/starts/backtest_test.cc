#include "scheduler/oracle/starts/backtest.h"

namespace koord::scheduler::oracle::testing {
namespace {

// Fixed seeds, so the numbers never change. The documentation has those of more seeds.
TEST(Backtest, starts_fall_within_their_bounds_as_often_as_is_said) {
  std::map<std::string, BacktestKind> all;
  for (const std::uint64_t seed : {1, 2, 3}) {
    Backtest backtest({.seed = seed, .nodes = 4, .waves = 4, .jobs = 20, .questions = 2});
    backtest.run();
    for (const auto& [name, kind] : backtest.kinds()) all[name].add(kind);
  }
  ASSERT_EQ(all.size(), 4u);
  BacktestKind sum;
  for (const auto& [name, kind] : all) {
    EXPECT_GE(kind.claimed, 15) << name;
    EXPECT_GE(kind.within, kind.claimed * 6 / 10) << name << ": " << kind.within;
    sum.add(kind);
  }
  EXPECT_GE(sum.within, sum.claimed * 74 / 100) << sum.within << " of " << sum.claimed;
  EXPECT_LE(sum.within, sum.claimed * 92 / 100) << sum.within << " of " << sum.claimed;
  EXPECT_LT(sum.medianError(), 0.5);
}

}  // namespace
}  // namespace koord::scheduler::oracle::testing
