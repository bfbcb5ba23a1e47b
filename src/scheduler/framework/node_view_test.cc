#include "scheduler/framework/node_view.h"

#include <gtest/gtest.h>

#include <map>

#include "base/random.h"

namespace koord::scheduler {
namespace {

TEST(NodeView, finds_the_nodes_with_a_credit_however_many_there_are_of_either) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Random random(seed);
    NodeView view;
    const std::uint64_t credits = random.below(40);
    for (std::uint64_t i = 0; i < credits; ++i) {
      NodeCredit credit;
      credit.pods = static_cast<std::int64_t>(1 + random.below(9));
      view.set(static_cast<NodeId>(random.below(60)), credit);
    }
    std::vector<NodeId> nodes;
    for (NodeId node = 0; node < 60; ++node)
      if (random.chance(seed % 2 == 0 ? 0.9 : 0.1)) nodes.push_back(node);
    std::map<std::size_t, std::int64_t> expected;
    for (std::size_t n = 0; n < nodes.size(); ++n)
      if (const NodeCredit* credit = view.on(nodes[n])) expected[n] = credit->pods;
    std::map<std::size_t, std::int64_t> found;
    view.forEachOf(nodes, [&](std::size_t n, const NodeCredit& credit) {
      EXPECT_TRUE(found.emplace(n, credit.pods).second) << "told twice";
    });
    EXPECT_EQ(found, expected) << "seed " << seed;
  }
}

}  // namespace
}  // namespace koord::scheduler
