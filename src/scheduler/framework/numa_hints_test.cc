#include "scheduler/framework/numa_hints.h"

#include <gtest/gtest.h>

namespace koord::scheduler {
namespace {

TEST(NumaHints, SetsComeBySizeThenLexicographically) {
  EXPECT_EQ(numaSubsets({0, 1, 3}),
            (std::vector<NumaMask>{0b0001, 0b0010, 0b1000, 0b0011, 0b1001, 0b1010, 0b1011}));
  EXPECT_TRUE(numaSubsets({}).empty());
}

TEST(NumaHints, OfTooManySetsTheSmallestAreKeptAndTheOneOfAll) {
  EXPECT_EQ(numaSubsets({0, 1, 2}, 4), (std::vector<NumaMask>{1, 2, 4, 7}));
  std::vector<int> ids;
  for (int id = 0; id < kMaxNumaNodes; ++id) ids.push_back(id);
  const auto sets = numaSubsets(ids);
  EXPECT_EQ(sets.size(), std::size_t{1} << 12);
  EXPECT_EQ(sets[63], NumaMask{1} << 63);
  EXPECT_EQ(sets.back(), ~NumaMask{0});
}

}  // namespace
}  // namespace koord::scheduler
