#include "base/cpuset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "base/random.h"

namespace koord {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

CpuSet cpus(std::string_view text) {
  auto parsed = CpuSet::parse(text);
  EXPECT_TRUE(parsed) << text << ": " << parsed.error().message;
  return parsed.value_or(CpuSet());
}

TEST(CpuSet, PrintsTheShortestAscendingList) {
  EXPECT_EQ(cpus("").toString(), "");
  EXPECT_EQ(cpus("0").toString(), "0");
  EXPECT_EQ(cpus("3,1,2,0").toString(), "0-3");
  EXPECT_EQ(cpus("0-3,8,10-11").toString(), "0-3,8,10-11");
  EXPECT_EQ(cpus("62-65,60,66").toString(), "60,62-66");
  EXPECT_EQ(cpus("0-1,0-1,007").toString(), "0-1,7");
  EXPECT_EQ(cpus("5000,0-4095").toString(), "0-4095,5000");
}

TEST(CpuSet, RefusesTextThatIsNoListAndSaysWhichPart) {
  for (std::string_view text : {" ", ",", "1,", ",1", "1 ,2", "1, 2", "1-", "-1", "1--2", "1-2-3",
                                "0x1", "1.5", "a", "1;2", "0-3\n"}) {
    const auto parsed = CpuSet::parse(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_THAT(parsed.error().message, HasSubstr("is not a CPU number")) << text;
  }
}

TEST(CpuSet, RefusesNumbersThatNoMachineHas) {
  EXPECT_EQ(cpus("0-65535").size(), 65536);
  for (std::string_view text : {"65536", "0-4294967294", "2147483648", "9223372036854775808"}) {
    const auto parsed = CpuSet::parse(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_THAT(parsed.error().message, HasSubstr("above the highest number")) << text;
  }
}

TEST(CpuSet, TakesAReversedRangeAsEmptyUnlessToldToRefuse) {
  EXPECT_EQ(cpus("4-3,9").toString(), "9");
  EXPECT_FALSE(CpuSet::parse("4-3,9", CpuSet::ReversedRange::Error));
  EXPECT_TRUE(CpuSet::parse("3-3,9", CpuSet::ReversedRange::Error));
}

TEST(CpuSet, AddsAndRemoves) {
  CpuSet set{5, 1};
  set.add(300);
  EXPECT_TRUE(set.contains(300));
  EXPECT_FALSE(set.contains(299));
  EXPECT_FALSE(set.contains(-1));
  EXPECT_FALSE(set.contains(100000));
  set.remove(300);
  set.remove(300);
  EXPECT_EQ(set, (CpuSet{1, 5}));
  EXPECT_THAT(set.toVector(), ElementsAre(1, 5));
  set.remove(1);
  set.remove(5);
  EXPECT_TRUE(set.empty());
  EXPECT_EQ(set, CpuSet());
  EXPECT_EQ(CpuSet::firstCpus(130).toString(), "0-129");
  EXPECT_TRUE(CpuSet::firstCpus(0).empty());
}

// The model is std::set<int>.
TEST(CpuSet, AgreesWithAnOrdinarySetOnRandomOperations) {
  Random random(7);
  for (int round = 0; round < 300; ++round) {
    const std::uint64_t limit = 1 + random.below(round % 3 == 0 ? 1000 : 90);
    const auto draw = [&] {
      std::set<int> numbers;
      for (std::uint64_t n = random.below(60); n > 0; --n) {
        numbers.insert(static_cast<int>(random.below(limit)));
      }
      return numbers;
    };
    const auto toSet = [](const std::set<int>& numbers) {
      return CpuSet::of(std::vector<int>(numbers.begin(), numbers.end()));
    };
    const std::set<int> a = draw();
    const std::set<int> b = draw();
    std::set<int> both;
    std::set<int> common;
    std::set<int> rest;
    std::ranges::set_union(a, b, std::inserter(both, both.end()));
    std::ranges::set_intersection(a, b, std::inserter(common, common.end()));
    std::ranges::set_difference(a, b, std::inserter(rest, rest.end()));

    const CpuSet x = toSet(a);
    const CpuSet y = toSet(b);
    EXPECT_EQ(x.unionWith(y), toSet(both));
    EXPECT_EQ(x.intersect(y), toSet(common));
    EXPECT_EQ(x.difference(y), toSet(rest));
    EXPECT_EQ(x.intersects(y), !common.empty());
    EXPECT_EQ(x.isSubsetOf(y), std::ranges::includes(b, a));
    EXPECT_TRUE(x.intersect(y).isSubsetOf(y));
    EXPECT_EQ(static_cast<std::size_t>(x.size()), a.size());
    EXPECT_EQ(cpus(x.toString()), x);
  }
}

}  // namespace
}  // namespace koord
