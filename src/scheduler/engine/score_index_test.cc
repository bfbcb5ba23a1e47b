#include "scheduler/engine/score_index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace koord::scheduler {
namespace {

TEST(ScoreIndex, finds_the_same_best_node_as_looking_at_all) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    Random random(seed);
    const std::size_t nodes = 1 + random.below(700);
    ScoreIndex index;
    index.clear(nodes);
    std::map<NodeId, std::int64_t> plain;
    for (int step = 0; step < 200; ++step) {
      const auto node = static_cast<NodeId>(random.below(nodes));
      if (random.chance(0.2)) {
        index.set(node, ScoreIndex::kInfeasible);
        plain.erase(node);
      } else {
        const auto total = static_cast<std::int64_t>(random.below(20));
        index.set(node, total);
        plain[node] = total;
      }
      Random one(step), two(step);
      const auto best = index.best(one);
      if (plain.empty()) {
        ASSERT_FALSE(best);
        continue;
      }
      const std::int64_t max = std::ranges::max_element(plain, {}, [](auto& e) { return e.second; })->second;
      std::vector<NodeId> ties;
      for (const auto& [id, total] : plain)
        if (total == max) ties.push_back(id);
      const NodeId expected = ties.size() > 1 ? ties[two.below(ties.size())] : ties.front();
      ASSERT_EQ(best->total, max);
      ASSERT_EQ(best->ties, ties.size());
      ASSERT_EQ(best->node, expected);
    }
  }
}

}  // namespace
}  // namespace koord::scheduler
