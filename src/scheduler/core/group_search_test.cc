#include "scheduler/core/group_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/random.h"

namespace koord::scheduler {
namespace {

// Nodes with two resources and labels, and members that want some of both.
struct SearchMember {
  std::array<int, 2> wants{};
  int only = -1;        // the node label that it needs; -1: none
  bool apart = false;   // not on a node with another such member
  bool beside = false;  // only on a node with another member
};

struct SearchNode {
  std::array<int, 2> has{};
  int label = 0;
};

class SearchWorld final : public GroupSearch::World {
 public:
  std::vector<SearchNode> nodes;
  std::vector<SearchMember> members;
  std::size_t minimum = 0;
  std::vector<std::pair<std::size_t, NodeId>> placed;

  bool fits(std::size_t number, NodeId node) const {
    const SearchMember& member = members[number];
    std::array<int, 2> free = nodes[node].has;
    std::size_t apart = 0, others = 0;
    for (const auto& [other, where] : placed) {
      if (where != node) continue;
      ++others;
      apart += members[other].apart;
      for (std::size_t r = 0; r < 2; ++r) free[r] -= members[other].wants[r];
    }
    return free[0] >= member.wants[0] && free[1] >= member.wants[1] &&
           (member.only < 0 || member.only == nodes[node].label) && !(member.apart && apart > 0) &&
           !(member.beside && others == 0);
  }
  // The node with the most room, as LeastAllocated would.
  Found place(std::size_t number, const NodeSet& among) override {
    Found found;
    int best = -1;
    among.forEach([&](NodeId node) {
      if (!fits(number, node)) return;
      ++found.choices;
      int room = nodes[node].has[0];
      for (const auto& [other, where] : placed)
        if (where == node) room -= members[other].wants[0];
      if (room > best) {
        best = room;
        found.node = node;
      }
    });
    if (found.node != kNoNode) placed.emplace_back(number, found.node);
    return found;
  }
  void undo(std::size_t number) override {
    ASSERT_EQ(placed.back().first, number) << "the last one first";
    placed.pop_back();
  }
  std::uint64_t demandOf(std::size_t number) const override {
    const SearchMember& of = members[number];
    return static_cast<std::uint64_t>(
        (((of.wants[0] * 32 + of.wants[1]) * 8 + of.only + 1) * 2 + of.apart) * 2 + of.beside);
  }
  double sizeOf(std::size_t number) const override {
    return members[number].wants[0] + members[number].wants[1];
  }
  bool needsOthers(std::size_t number) const override { return members[number].beside; }
  bool canDoWithout(std::span<const std::size_t> leftOut) const override {
    return members.size() - leftOut.size() >= minimum;
  }

  NodeSet all() const {
    NodeSet set;
    for (NodeId node = 0; node < nodes.size(); ++node) set.insert(node);
    return set;
  }
  // Tries every order and every node. The order matters for members that need others.
  bool hasPlacement() {
    std::set<std::vector<std::pair<std::size_t, NodeId>>> seen;
    return hasPlacement(seen);
  }
  bool hasPlacement(std::set<std::vector<std::pair<std::size_t, NodeId>>>& seen) {
    if (placed.size() >= minimum) return true;
    auto state = placed;
    std::ranges::sort(state);
    if (!seen.insert(std::move(state)).second) return false;
    for (std::size_t number = 0; number < members.size(); ++number) {
      if (std::ranges::find(placed, number, &std::pair<std::size_t, NodeId>::first) != placed.end())
        continue;
      for (NodeId node = 0; node < nodes.size(); ++node) {
        if (!fits(number, node)) continue;
        placed.emplace_back(number, node);
        const bool found = hasPlacement(seen);
        placed.pop_back();
        if (found) return true;
      }
    }
    return false;
  }
  bool placedGreedily() {
    for (std::size_t number = 0; number < members.size(); ++number) (void)place(number, all());
    const bool enough = placed.size() >= minimum;
    placed.clear();
    return enough;
  }
};

SearchWorld randomSearchWorld(Random& random, bool affinity) {
  SearchWorld world;
  for (std::size_t n = 2 + random.below(3); n > 0; --n)
    world.nodes.push_back(
        {{static_cast<int>(2 + random.below(7)), static_cast<int>(2 + random.below(7))},
         static_cast<int>(random.below(2))});
  while (world.members.size() < 2 || (world.members.size() < 5 && random.chance(0.7))) {
    SearchMember member;
    for (int& amount : member.wants) amount = static_cast<int>(1 + random.below(4));
    if (random.chance(0.2)) member.only = static_cast<int>(random.below(2));
    member.apart = random.chance(0.2);
    member.beside = affinity && random.chance(0.2);
    world.members.push_back(member);
    if (random.chance(0.3)) world.members.push_back(member);
  }
  world.minimum =
      random.chance(0.7) ? world.members.size() : 1 + random.below(world.members.size());
  return world;
}

TEST(GroupSearch, a_small_member_leaves_the_large_node_to_the_large_member) {
  SearchWorld world;
  world.nodes = {{{4, 9}, 0}, {{8, 9}, 0}};
  world.members = {{.wants = {3, 1}}, {.wants = {8, 1}}};
  world.minimum = 2;
  EXPECT_FALSE(world.placedGreedily());
  const NodeSet nodes = world.all();
  GroupSearch search(world, nodes, 2, 100);
  EXPECT_TRUE(search.run());
  EXPECT_EQ(world.placed.size(), 2u);
}

TEST(GroupSearch, large_members_come_first_where_all_nodes_are_alike) {
  SearchWorld world;
  for (int n = 0; n < 20; ++n) world.nodes.push_back({{16, 16}, 0});
  world.members.assign(20, {.wants = {8, 1}});
  for (int m = 0; m < 10; ++m) world.members.push_back({.wants = {16, 1}});
  world.minimum = world.members.size();
  EXPECT_FALSE(world.placedGreedily());
  const NodeSet nodes = world.all();
  GroupSearch search(world, nodes, world.members.size(), 1000);
  EXPECT_TRUE(search.run());
  EXPECT_EQ(search.steps(), 2 * world.members.size()) << "alone, and together";
}

TEST(GroupSearch, a_kind_of_members_that_does_not_fit_alone_costs_one_try_per_member) {
  SearchWorld world;
  for (int n = 0; n < 10; ++n) world.nodes.push_back({{4, 4}, 0});
  world.members.assign(11, {.wants = {3, 1}});
  world.members.push_back({.wants = {1, 1}});
  world.minimum = 12;
  const NodeSet nodes = world.all();
  GroupSearch search(world, nodes, 12, 1000);
  EXPECT_FALSE(search.run());
  EXPECT_FALSE(search.exhausted());
  EXPECT_LE(search.steps(), 12u);
  EXPECT_TRUE(world.placed.empty());
}

TEST(GroupSearch, what_cannot_help_is_not_tried_again) {
  SearchWorld world;
  // Many small members, and two large ones whose choice of nodes excludes each other.
  for (int n = 0; n < 12; ++n) world.nodes.push_back({{9, 9}, 1});
  world.nodes.push_back({{6, 9}, 0});
  for (int m = 0; m < 12; ++m) world.members.push_back({.wants = {1, m % 4 + 1}});
  world.members.push_back({.wants = {4, 1}, .only = 0});
  world.members.push_back({.wants = {3, 1}, .only = 0});
  world.minimum = world.members.size();
  const NodeSet nodes = world.all();
  GroupSearch search(world, nodes, world.members.size(), 10'000);
  EXPECT_FALSE(search.run());
  EXPECT_LT(search.steps(), 200u);
}

TEST(GroupSearch, many_members_that_lack_one_place_move_the_member_that_took_it) {
  SearchWorld world;
  // The large member prefers the first node, which has room for nine small members without it.
  world.nodes = {{{9, 9}, 0}, {{8, 1}, 0}};
  for (int n = 0; n < 38; ++n) world.nodes.push_back({{1, 1}, 1});
  world.members.assign(41, {.wants = {1, 1}});
  world.members.push_back({.wants = {8, 1}});
  world.minimum = world.members.size();
  EXPECT_FALSE(world.placedGreedily());
  const NodeSet nodes = world.all();
  GroupSearch search(world, nodes, world.members.size(), 200 + 4 * world.members.size());
  EXPECT_TRUE(search.run());
  EXPECT_EQ(world.placed.size(), world.members.size());
}

TEST(GroupSearch, a_search_without_a_limit_finds_a_placement_if_there_is_one) {
  Random random(7);
  std::size_t exist = 0, greedy = 0;
  for (int i = 0; i < 2000; ++i) {
    SearchWorld world = randomSearchWorld(random, false);
    const bool exists = world.hasPlacement();
    exist += exists;
    greedy += world.placedGreedily();
    const NodeSet nodes = world.all();
    GroupSearch search(world, nodes, world.members.size(), 1'000'000);
    ASSERT_EQ(search.run(), exists) << "world " << i;
    ASSERT_EQ(world.placed.size() >= world.minimum, exists) << "world " << i;
    if (!exists) ASSERT_TRUE(world.placed.empty());
  }
  EXPECT_GT(exist, 500u);
  EXPECT_LT(greedy, exist * 95 / 100) << "the worlds are too easy";
}

TEST(GroupSearch, the_default_budget_finds_almost_all_placements) {
  Random random(8);
  std::size_t exist = 0, found = 0;
  for (int i = 0; i < 2000; ++i) {
    SearchWorld world = randomSearchWorld(random, true);
    if (!world.hasPlacement()) continue;
    ++exist;
    const NodeSet nodes = world.all();
    GroupSearch search(world, nodes, world.members.size(), 200 + 4 * world.members.size());
    found += search.run();
  }
  EXPECT_GE(found * 1000, exist * 995) << found << " of " << exist;
}

}  // namespace
}  // namespace koord::scheduler
