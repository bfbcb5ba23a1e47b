#include "scheduler/engine/node_set.h"

#include <gtest/gtest.h>

#include <set>

#include "base/random.h"

namespace koord::scheduler {
namespace {

std::set<NodeId> members(const NodeSet& nodes) {
  std::set<NodeId> result;
  nodes.forEach([&](NodeId node) { result.insert(node); });
  return result;
}

TEST(NodeSet, behaves_like_a_set_of_numbers_under_random_operations) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Random random(seed);
    NodeSet a, b;
    std::set<NodeId> plainA, plainB;
    for (int step = 0; step < 300; ++step) {
      const auto node = static_cast<NodeId>(random.below(10'000));
      switch (random.below(8)) {
        case 0:
        case 1:
        case 2:
          a.insert(node);
          plainA.insert(node);
          break;
        case 3:
          b.insert(node);
          plainB.insert(node);
          break;
        case 4:
          if (!plainA.empty()) {
            a.erase(*plainA.begin());
            plainA.erase(plainA.begin());
          }
          break;
        case 5: {
          NodeSet united = a;
          united.unite(b);
          const std::size_t before = a.size();
          const std::size_t added = a.add(b);
          ASSERT_EQ(added, a.size() - before);
          ASSERT_EQ(a, united);
          plainA.insert(plainB.begin(), plainB.end());
          break;
        }
        case 6: {
          a.subtract(b);
          for (const NodeId gone : plainB) plainA.erase(gone);
          break;
        }
        default: {
          if (random.below(4) != 0) break;
          a.intersect(b);
          std::erase_if(plainA, [&](NodeId n) { return !plainB.contains(n); });
        }
      }
      ASSERT_EQ(members(a), plainA) << "seed " << seed;
      ASSERT_EQ(a.size(), plainA.size());
      ASSERT_EQ(a.empty(), plainA.empty());
      ASSERT_EQ(a.smallerThan(5), plainA.size() < 5);
      ASSERT_EQ(a.contains(node), plainA.contains(node));
      std::set<NodeId> both;
      a.forEachIn(b, [&](NodeId n) { both.insert(n); });
      NodeSet intersection = a;
      intersection.intersect(b);
      ASSERT_EQ(both, members(intersection)) << "seed " << seed;
    }
  }
}

TEST(NodeSet, members_may_be_erased_while_they_are_walked) {
  NodeSet nodes;
  for (NodeId node = 0; node < 1000; ++node) nodes.insert(node);
  nodes.forEach([&](NodeId node) {
    if (node % 3 != 0) nodes.erase(node);
  });
  EXPECT_EQ(nodes.size(), 334u);
}

TEST(NodeSet, members_are_found_in_a_list_however_many_there_are) {
  std::vector<NodeId> nodes;
  for (NodeId node = 3; node < 3000; node += 3) nodes.push_back(node);
  for (const NodeId step : {1, 7, 100, 2999}) {  // members are searched for, or asked for
    NodeSet set;
    for (NodeId node = 0; node < 5000; node += step) set.insert(node);
    std::vector<std::size_t> found, expected;
    set.forEachOf(nodes, [&](std::size_t n) { found.push_back(n); });
    for (std::size_t n = 0; n < nodes.size(); ++n)
      if (set.contains(nodes[n])) expected.push_back(n);
    EXPECT_EQ(found, expected) << "every " << step << "th";
  }
}

TEST(NodeSet, sets_of_different_capacity_compare_by_members) {
  NodeSet small, large(100'000);
  small.insert(7);
  large.insert(7);
  EXPECT_EQ(small, large);
  large.insert(90'000);
  EXPECT_NE(small, large);
}

}  // namespace
}  // namespace koord::scheduler
