#include "scheduler/engine/score_index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace koord::scheduler {
namespace {

TEST(ScoreIndex, finds_the_same_best_node_as_looking_at_all_of_those_in_question) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Random random(seed);
    const std::size_t nodes = 1 + random.below(700);
    // Of one, two, four and eight bytes.
    const std::int64_t scale = std::int64_t{1} << (11 * random.below(4));
    ScoreIndex index;
    index.clear(nodes);
    std::map<NodeId, std::int64_t> plain;
    for (int step = 0; step < 200; ++step) {
      const auto node = static_cast<NodeId>(random.below(nodes));
      const auto total = static_cast<std::int64_t>(random.below(20)) * scale;
      if (random.chance(0.2)) {
        index.set(node, ScoreIndex::kInfeasible);
        plain.erase(node);
      } else if (random.chance(0.95)) {
        index.set(node, total);
        plain[node] = total;
      } else {  // many at once
        std::vector<NodeId> list;
        std::vector<std::int64_t> totals;
        for (NodeId n = 0; n < nodes; ++n) {
          if (random.chance(0.3)) continue;
          list.push_back(n);
          totals.push_back(static_cast<std::int64_t>(random.below(20)) * scale);
          plain[n] = totals.back();
        }
        index.set(list, totals);
      }
      NodeSet some;
      for (NodeId n = 0; n < nodes; ++n)
        if (random.chance(seed % 2 == 0 ? 0.9 : 0.1)) some.insert(n);
      for (const NodeSet* among :
           {static_cast<const NodeSet*>(nullptr), static_cast<const NodeSet*>(&some)}) {
        std::int64_t max = ScoreIndex::kInfeasible;
        for (const auto& [id, total] : plain)
          if (!among || among->contains(id)) max = std::max(max, total);
        std::vector<NodeId> ties;
        for (const auto& [id, total] : plain)
          if (total == max && (!among || among->contains(id))) ties.push_back(id);
        Random one(step), two(step);
        const auto best = index.best(one, among);
        ASSERT_EQ(best.has_value(), !ties.empty());
        if (!best) continue;
        ASSERT_EQ(best->total, max);
        ASSERT_EQ(best->ties, ties.size());
        ASSERT_EQ(best->node, ties.size() > 1 ? ties[two.below(ties.size())] : ties.front());
      }
    }
  }
}

}  // namespace
}  // namespace koord::scheduler
