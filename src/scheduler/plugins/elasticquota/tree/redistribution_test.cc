#include "scheduler/plugins/elasticquota/tree/redistribution.h"

#include <gtest/gtest.h>

#include <limits>
#include <numeric>

#include "base/random.h"

namespace koord::scheduler::quota {
namespace {

using Runtime = std::vector<std::int64_t>;

Runtime shared(const std::vector<Claim>& claims, std::int64_t total) {
  Runtime runtime(claims.size());
  redistribute(claims, total, runtime);
  return runtime;
}
Claim claim(std::int64_t weight, std::int64_t request, std::int64_t promised, bool lends = true) {
  return {promised, request, weight, lends};
}

TEST(Redistribution, deals_out_by_weight_until_everybody_has_what_he_asks_for) {
  EXPECT_EQ(
      shared({claim(40, 5, 10), claim(60, 20, 15), claim(50, 40, 20), claim(80, 70, 15)}, 100),
      (Runtime{5, 20, 35, 40}));
}

TEST(Redistribution, gives_nothing_beyond_its_promise_to_a_weight_of_nothing) {
  EXPECT_EQ(shared({claim(40, 5, 10), claim(60, 20, 15), claim(50, 40, 20), claim(0, 70, 15)}, 100),
            (Runtime{5, 20, 40, 15}));
}

TEST(Redistribution, keeps_what_was_guaranteed) {
  EXPECT_EQ(shared({claim(40, 5, 10), claim(60, 20, 15), claim(50, 40, 20), claim(0, 70, 45)}, 100),
            (Runtime{5, 20, 30, 45}));
}

TEST(Redistribution, gives_single_units_to_the_largest_remainders_and_then_by_name) {
  std::vector<Claim> claims(8, claim(8, 20, 8));
  claims.push_back(claim(7, 20, 7));
  claims.push_back(claim(7, 20, 7));
  claims.push_back(claim(3, 0, 3));  // the donor
  EXPECT_EQ(shared(claims, 81), (Runtime{9, 9, 9, 8, 8, 8, 8, 8, 7, 7, 0}));
  EXPECT_EQ(shared({claim(1, 10, 0), claim(1, 10, 0), claim(1, 10, 0)}, 10), (Runtime{4, 3, 3}));
}

TEST(Redistribution, a_quota_that_does_not_lend_keeps_its_min) {
  EXPECT_EQ(shared({claim(96, 96, 60), claim(96, 0, 40, false)}, 100), (Runtime{60, 40}));
  EXPECT_EQ(shared({claim(96, 96, 60), claim(96, 0, 40)}, 100), (Runtime{96, 0}));
}

TEST(Redistribution, keeps_promises_that_are_more_than_there_is) {
  EXPECT_EQ(shared({claim(1, 90, 60), claim(1, 90, 60)}, 100), (Runtime{60, 60}));
  EXPECT_EQ(shared({claim(1, 90, 60), claim(1, 5, 60)}, -7), (Runtime{60, 5}));
}

TEST(Redistribution, of_the_largest_numbers_does_not_overflow) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  const Runtime runtime = shared({claim(kMost, kMost, 0), claim(kMost, kMost, 0)}, kMost);
  EXPECT_EQ(runtime, (Runtime{kMost / 2 + 1, kMost / 2}));
  EXPECT_EQ(scaledMin(kMost, kMost, __int128{kMost} * 2), kMost / 2);
}

TEST(Redistribution, hands_out_everything_that_somebody_wants_and_never_more) {
  Random random(7);
  for (int round = 0; round < 2000; ++round) {
    std::vector<Claim> claims;
    for (std::uint64_t n = random.below(12); n < 12; ++n)
      claims.push_back(claim(static_cast<std::int64_t>(random.below(5)),
                             static_cast<std::int64_t>(random.below(100)),
                             static_cast<std::int64_t>(random.below(30)), random.chance(0.7)));
    const auto total = static_cast<std::int64_t>(random.below(600));
    const Runtime runtime = shared(claims, total);
    std::int64_t sum = 0, promises = 0;
    bool wanting = false;
    for (std::size_t n = 0; n < claims.size(); ++n) {
      const Claim& each = claims[n];
      sum += runtime[n];
      promises += each.borrows() || !each.lends ? each.promised : each.request;
      EXPECT_GE(runtime[n], std::min(each.promised, each.request));
      EXPECT_LE(runtime[n], std::max(each.promised, each.request));
      wanting |= each.weight > 0 && runtime[n] < each.request;
    }
    EXPECT_LE(sum, std::max(total, promises));
    if (wanting) {
      EXPECT_GE(sum, total) << "somebody wants what is left";
    }
  }
}

}  // namespace
}  // namespace koord::scheduler::quota
