#include "scheduler/plugins/nodenumaresource/numa_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>

#include "base/random.h"

namespace koord::scheduler {
namespace {

using ::testing::ElementsAre;

NumaHints provider(std::vector<NumaResourceHints> resources) {
  return {{}, std::move(resources)};
}

// The rules by definition: every product of one hint of each list.
struct PlainMerge {
  struct Merged {
    NumaMask mask = 0;
    bool preferred = false;
    bool unsatisfied = false;
    std::int64_t score = 0;
  };
  std::vector<std::vector<NumaHint>> lists;
  NumaMask all = 0;
  Merged best;

  void product(std::size_t at, std::vector<NumaHint>& chosen) {
    if (at < lists.size()) {
      for (const NumaHint& hint : lists[at]) {
        chosen.push_back(hint);
        product(at + 1, chosen);
        chosen.pop_back();
      }
      return;
    }
    Merged merged{all, true, false, 0};
    int most = 0;
    NumaMask first = 0;
    for (const NumaHint& hint : chosen) {
      merged.preferred &= hint.preferred;
      if (hint.mask == kAnyNuma) continue;
      merged.preferred &= first == 0 || first == hint.mask;
      if (first == 0) first = hint.mask;
      merged.mask &= hint.mask;
      most = std::max(most, std::popcount(hint.mask));
    }
    if (merged.mask == 0) return;
    merged.unsatisfied = first != 0 && most != std::popcount(merged.mask);
    for (const NumaHint& hint : chosen)
      if (hint.mask == merged.mask) merged.score += hint.score;
    if (best.preferred != merged.preferred) {
      if (merged.preferred) best = merged;
      return;
    }
    const int more = std::popcount(merged.mask) - std::popcount(best.mask);
    if (more < 0 || (more == 0 && (merged.mask < best.mask || merged.score > best.score)))
      best = merged;
  }
  Merged run() {
    best = {all, false, false, 0};
    std::vector<NumaHint> chosen;
    product(0, chosen);
    return best;
  }
};

TEST(NumaPolicy, merges_like_the_product_of_all_lists) {
  Random random(7);
  int admitted = 0, narrowed = 0;
  for (int round = 0; round < 1000; ++round) {
    const int zones = 1 + static_cast<int>(random.below(4));
    std::vector<int> ids;
    for (int i = 0; i < zones; ++i) ids.push_back(i);
    const std::vector<NumaMask> sets = numaSubsets(ids);
    const bool restricted = random.below(2) == 0;
    PlainMerge plain;
    plain.all = sets.back();
    std::vector<NumaHints> providers;
    const auto lists = 1 + random.below(3);
    for (std::uint64_t i = 0; i < lists; ++i) {
      std::vector<NumaHint> hints;
      for (const NumaMask set : sets)
        if (random.below(3) != 0)
          hints.push_back({set, random.below(2) == 0, static_cast<std::int64_t>(random.below(3))});
      if (hints.empty()) hints.push_back({sets.back(), true, 0});
      plain.lists.push_back(hints);
      providers.push_back(provider({{fmt::format("r{}", i), hints}}));
    }
    const auto best = plain.run();
    const NumaPolicy policy = restricted ? NumaPolicy::Restricted : NumaPolicy::BestEffort;
    const NumaChoice choice = chooseNuma(policy, plain.all, providers);
    if (best.preferred) {
      ASSERT_TRUE(choice.admitted) << round;
      ASSERT_EQ(choice.mask, best.mask) << round;
      ++admitted;
    } else if (restricted) {
      ASSERT_FALSE(choice.admitted) << round;
    } else if (!best.unsatisfied && choice.mask != plain.all) {
      // The order of products decides between sets of one size.
      ASSERT_EQ(std::popcount(choice.mask), std::popcount(best.mask)) << round;
      ++narrowed;
    }
    if (policy == NumaPolicy::BestEffort) {
      ASSERT_TRUE(choice.admitted);
    }
  }
  EXPECT_GT(admitted, 150);
  EXPECT_GT(narrowed, 5);
}

TEST(NumaPolicy, a_single_node_is_chosen_by_the_sum_of_scores) {
  const std::vector<NumaHint> cpu{{1, true, 38}, {2, true, 77}, {3, false, 50}};
  const NumaChoice choice = chooseNuma(NumaPolicy::SingleNumaNode, 3,
                                       std::vector{provider({{"cpu", cpu}, {"memory", cpu}})});
  EXPECT_TRUE(choice.admitted);
  EXPECT_EQ(choice.mask, 2);
}

TEST(NumaPolicy, says_what_is_not_aligned) {
  const std::vector<NumaHint> both{{3, true, 0}};
  const std::vector providers{provider({{"memory", both}, {"cpu", both}})};
  const NumaChoice single = chooseNuma(NumaPolicy::SingleNumaNode, 3, providers);
  EXPECT_FALSE(single.admitted);
  EXPECT_THAT(single.reasons, ElementsAre("Unaligned NUMA Hint cause cpu prefer [11] among [11],"
                                          "memory prefer [11] among [11]"));
  const NumaChoice isAvoided =
      chooseNuma(NumaPolicy::Restricted, 3, providers, [](NumaMask) { return true; });
  EXPECT_FALSE(isAvoided.admitted);
  EXPECT_THAT(isAvoided.reasons,
              ElementsAre("Unaligned NUMA Hint cause cpu prefer [11] among [11] & "
                          "memory prefer [11] among [11]"));
  EXPECT_EQ(chooseNuma(NumaPolicy::Restricted, 3, providers).mask, 3);
}

TEST(NumaPolicy, a_resource_without_a_set_refuses_and_best_effort_takes_all) {
  const std::vector providers{provider({{"cpu", {}}, {"memory", {{1, true, 0}}}})};
  for (const auto policy : {NumaPolicy::Restricted, NumaPolicy::SingleNumaNode}) {
    const NumaChoice choice = chooseNuma(policy, 3, providers);
    EXPECT_FALSE(choice.admitted);
    EXPECT_THAT(choice.reasons, ElementsAre("Unsatisfied NUMA cpu"));
  }
  EXPECT_EQ(chooseNuma(NumaPolicy::BestEffort, 3, providers).mask, 3);
}

TEST(NumaPolicy, a_machine_of_one_numa_node_has_no_affinity) {
  const std::vector providers{provider({{"cpu", {{1, true, 5}}}})};
  const NumaChoice choice = chooseNuma(NumaPolicy::SingleNumaNode, 1, providers);
  EXPECT_TRUE(choice.admitted);
  EXPECT_EQ(choice.mask, kAnyNuma);
  EXPECT_EQ(chooseNuma(NumaPolicy::Restricted, 1, providers).mask, 1);
}

TEST(NumaPolicy, providers_that_want_nothing_do_not_matter) {
  const std::vector providers{provider({}), provider({{"gpu", {{2, true, 500}, {3, false, 0}}}})};
  EXPECT_EQ(chooseNuma(NumaPolicy::SingleNumaNode, 3, providers).mask, 2);
  EXPECT_EQ(chooseNuma(NumaPolicy::Restricted, 3, std::vector{provider({})}).mask, 3);
}

TEST(NumaPolicy, sets_are_written_as_upstream_writes_them) {
  EXPECT_EQ(textOf(0b1), "01");
  EXPECT_EQ(textOf(0b10), "10");
  EXPECT_EQ(textOf(0b11), "11");
  EXPECT_EQ(textOf(0b101), "0101");
  EXPECT_EQ(textOf(0b100), "100");
  EXPECT_EQ(textOf(NumaMask{1} << 63).size(), 64U);
}

}  // namespace
}  // namespace koord::scheduler
