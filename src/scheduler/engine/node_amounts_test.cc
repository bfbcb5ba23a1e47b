#include "scheduler/engine/node_amounts.h"

#include <gtest/gtest.h>

#include <map>

#include "base/random.h"

namespace koord::scheduler {
namespace {

TEST(NodeAmounts, agrees_with_a_map_whether_few_or_many_nodes_have_something) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed);
    NodeAmounts amounts;
    std::map<NodeId, std::int64_t> plain;
    const auto nodes = 1 + random.below(400);
    for (int step = 0; step < 3000; ++step) {
      const auto node = static_cast<NodeId>(random.below(nodes));
      // Growing in the first half, shrinking in the second.
      const bool take = plain.contains(node) && random.chance(step < 1500 ? 0.2 : 0.9);
      const std::int64_t by = take ? -plain[node] : static_cast<std::int64_t>(random.below(5));
      amounts.add(node, by);
      if ((plain[node] += by) == 0) plain.erase(node);
      ASSERT_EQ(amounts.empty(), plain.empty());
    }
    std::map<NodeId, std::int64_t> seen;
    amounts.forEach(
        [&](NodeId node, std::int64_t amount) { EXPECT_TRUE(seen.emplace(node, amount).second); });
    EXPECT_EQ(seen, plain);
    for (NodeId node = 0; node < nodes + 2; ++node)
      EXPECT_EQ(amounts.at(node), plain.contains(node) ? plain[node] : 0);
  }
}

}  // namespace
}  // namespace koord::scheduler
