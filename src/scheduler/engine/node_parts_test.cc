#include "scheduler/engine/node_parts.h"

#include <gtest/gtest.h>

#include <map>

#include "base/random.h"

namespace koord::scheduler {
namespace {

using Plain = std::map<NodeId, double>;

Plain plainOf(const NodeParts& parts) {
  Plain plain;
  for (const NodePart& part : parts.parts())
    part.nodes.forEach(
        [&](NodeId node) { EXPECT_TRUE(plain.emplace(node, part.value).second) << node; });
  return plain;
}

TEST(NodeParts, agree_with_a_value_for_each_node_and_are_refused_when_they_get_too_many) {
  std::size_t refused = 0;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Random random(seed);
    const auto values = 1 + random.below(20);
    const auto some = [&](double chance) {
      NodeSet nodes;
      for (NodeId node = 0; node < 300; ++node)
        if (random.chance(chance)) nodes.insert(node);
      return nodes;
    };
    const NodeSet all = some(0.8);
    NodeParts sum(all);
    Plain plain;
    all.forEach([&](NodeId node) { plain[node] = 0; });
    for (int step = 0; step < 3; ++step) {
      NodeParts parts;
      Plain each;
      for (NodeId node = 0; node < 300; ++node) {
        if (random.chance(0.3)) continue;
        const auto value = static_cast<double>(random.below(values));
        ASSERT_TRUE(parts.put(value, node));
        each[node] = value;
        if (!random.chance(0.2)) continue;
        parts.take(value, node);
        each.erase(node);
      }
      ASSERT_EQ(plainOf(parts), each);
      for (const NodePart& part : parts.parts()) ASSERT_FALSE(part.nodes.empty());
      for (auto& [node, value] : plain)
        if (const auto plus = each.find(node); plus != each.end()) value += 7.5 * plus->second;
      if (!sum.add(parts, 7.5)) {
        ++refused;
        break;
      }
      ASSERT_EQ(plainOf(sum), plain);
    }
  }
  EXPECT_LT(refused, 50u);
  NodeParts many;
  NodeId node = 0;
  while (node < 1000 && many.put(node, node)) ++node;
  EXPECT_LT(node, 1000u);
}

}  // namespace
}  // namespace koord::scheduler
