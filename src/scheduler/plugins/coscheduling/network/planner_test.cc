#include "scheduler/plugins/coscheduling/network/planner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "base/random.h"

namespace koord::scheduler {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

api::NetworkTopologyLayer layer(std::string name, std::string parent, std::string key) {
  api::NetworkTopologyLayer made;
  made.topologyLayer = std::move(name);
  made.parentTopologyLayer = std::move(parent);
  if (!key.empty()) made.labelKey.push_back(std::move(key));
  return made;
}

api::ClusterNetworkTopologySpec spinesAndBlocks() {
  api::ClusterNetworkTopologySpec spec;
  spec.networkTopologySpec.push_back(layer("SpineLayer", "", "spine"));
  spec.networkTopologySpec.push_back(layer("BlockLayer", "SpineLayer", "block"));
  spec.networkTopologySpec.push_back(layer("NodeTopologyLayer", "BlockLayer", ""));
  return spec;
}

// Nodes n0, n1, ... with their location and offer.
struct NetworkWorld {
  NetworkTree tree{*layersOf(spinesAndBlocks())};
  std::vector<NetworkOffer> offers;
  NetworkDemand demand;

  NetworkWorld& node(const std::string& spine, const std::string& block, std::int64_t slots,
                     std::int64_t existing = 0, std::int64_t score = 0) {
    const auto id = static_cast<NodeId>(offers.size());
    EXPECT_TRUE(tree.add(id, "n" + std::to_string(id), {{"spine", spine}, {"block", block}}));
    offers.push_back({slots, existing, score});
    return *this;
  }
  NetworkPlanner planner(std::int64_t pods, std::size_t gatherLevel = 1) {
    demand.pods = pods;
    demand.gatherLevel = gatherLevel;
    return {tree, offers, demand};
  }
  std::vector<NodeId> best(std::int64_t pods, std::size_t gatherLevel = 1) {
    const auto plans = planner(pods, gatherLevel).plans(1);
    return plans.empty() ? std::vector<NodeId>() : plans.front();
  }
};

NetworkWorld twoSpines() {
  NetworkWorld world;
  world.node("s1", "b1", 2).node("s1", "b1", 2).node("s2", "b2", 3).node("s2", "b2", 3);
  return world;
}

TEST(Layers, form_one_chain_from_the_cluster_to_the_nodes) {
  const auto layers = layersOf(spinesAndBlocks());
  ASSERT_TRUE(layers);
  std::vector<std::string> names;
  for (const NetworkLayer& each : layers->list) names.push_back(each.name);
  EXPECT_THAT(names,
              ElementsAre("ClusterTopologyLayer", "SpineLayer", "BlockLayer", "NodeTopologyLayer"));
}

TEST(Layers, may_name_the_cluster_as_the_parent_of_the_topmost) {
  auto spec = spinesAndBlocks();
  spec.networkTopologySpec[0].parentTopologyLayer = "ClusterTopologyLayer";
  EXPECT_TRUE(layersOf(spec));
}

TEST(Layers, an_error_names_the_field) {
  const auto problem = [](const std::function<void(api::ClusterNetworkTopologySpec&)>& change) {
    auto spec = spinesAndBlocks();
    change(spec);
    const auto layers = layersOf(spec);
    return layers ? std::string() : layers.error().message;
  };
  EXPECT_THAT(problem([](auto& spec) { spec.networkTopologySpec.pop_back(); }),
              HasSubstr("spec.networkTopologySpec: Required value: NodeTopologyLayer"));
  EXPECT_THAT(problem([](auto& spec) { spec.networkTopologySpec[1].parentTopologyLayer = "X"; }),
              HasSubstr("spec.networkTopologySpec[1].parentTopologyLayer: Not found: \"X\""));
  EXPECT_THAT(
      problem([](auto& spec) { spec.networkTopologySpec[0].parentTopologyLayer = "BlockLayer"; }),
      HasSubstr("spec.networkTopologySpec[0].parentTopologyLayer"));
  EXPECT_THAT(problem([](auto& spec) { spec.networkTopologySpec[1].parentTopologyLayer = ""; }),
              HasSubstr("spec.networkTopologySpec[0].topologyLayer"));
  EXPECT_THAT(problem([](auto& spec) { spec.networkTopologySpec[0].labelKey.clear(); }),
              HasSubstr("spec.networkTopologySpec[0].labelKey: Required value"));
  EXPECT_THAT(problem([](auto& spec) { spec.networkTopologySpec[1].topologyLayer = "SpineLayer"; }),
              HasSubstr("spec.networkTopologySpec[1].topologyLayer: Duplicate value"));
  EXPECT_THAT(problem([](auto& spec) { spec = {}; }), HasSubstr("NodeTopologyLayer"));
}

TEST(Tree, a_node_without_the_label_of_a_layer_is_not_in_it) {
  NetworkTree tree(*layersOf(spinesAndBlocks()));
  EXPECT_FALSE(tree.add(0, "n0", {{"block", "b"}}));
  EXPECT_FALSE(tree.placeOf(0));
  EXPECT_EQ(tree.place(NetworkTree::kRoot).nodes, 0u);
}

TEST(Tree, a_node_without_the_label_of_the_layer_right_above_has_a_place_of_its_own) {
  NetworkTree tree(*layersOf(spinesAndBlocks()));
  EXPECT_TRUE(tree.add(3, "n3", {{"spine", "s"}}));
  ASSERT_TRUE(tree.placeOf(3));
  EXPECT_EQ(tree.place(tree.above(*tree.placeOf(3), 2)).name, "n3");
  EXPECT_EQ(tree.place(tree.above(*tree.placeOf(3), 1)).name, "s");
}

TEST(Tree, blocks_of_one_name_in_two_spines_are_two) {
  NetworkWorld world;
  world.node("s1", "b", 2).node("s2", "b", 2);
  EXPECT_THAT(world.best(3, 2), IsEmpty());
  EXPECT_THAT(world.planner(1, 2).scopes(), ElementsAre("BlockLayer/b: 2", "BlockLayer/b: 2"));
}

TEST(Planner, takes_the_spine_that_fits_most_tightly) {
  EXPECT_THAT(twoSpines().best(4), ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(twoSpines().best(5), ElementsAre(2, 2, 2, 3, 3));
}

TEST(Planner, goes_down_to_a_single_node_where_one_takes_all) {
  EXPECT_THAT(twoSpines().best(3), ElementsAre(2, 2, 2));
  EXPECT_THAT(twoSpines().best(1), ElementsAre(0));
}

TEST(Planner, what_no_spine_takes_has_no_place) {
  NetworkWorld world = twoSpines();
  EXPECT_THAT(world.best(7), IsEmpty());
  EXPECT_THAT(world.planner(7).scopes(), ElementsAre("SpineLayer/s1: 4", "SpineLayer/s2: 6"));
}

TEST(Planner, without_a_rule_all_of_the_cluster_is_one_scope) {
  NetworkWorld world = twoSpines();
  EXPECT_THAT(world.best(7, 0), ElementsAre(2, 2, 2, 3, 3, 3, 0));
  EXPECT_THAT(world.planner(7, 0).scopes(), ElementsAre("ClusterTopologyLayer/: 10"));
}

TEST(Planner, pods_go_where_their_like_are) {
  NetworkWorld world;
  world.node("s1", "b1", 2).node("s2", "b2", 2, 1).node("s2", "b3", 2);
  EXPECT_THAT(world.best(2), ElementsAre(1, 1));
  EXPECT_THAT(world.best(1), ElementsAre(1));
}

TEST(Planner, a_higher_score_decides_between_equals) {
  NetworkWorld world;
  world.node("s1", "b1", 2, 0, -5).node("s1", "b1", 2, 0, -1);
  EXPECT_THAT(world.best(2), ElementsAre(1, 1));
}

TEST(Planner, pods_come_in_multiples_where_a_layer_wants_that) {
  NetworkWorld world;
  world.demand.multiples = {0, 0, 0, 2};
  world.node("s1", "b1", 3).node("s1", "b1", 3).node("s1", "b1", 1);
  EXPECT_THAT(world.best(4), ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(world.best(5), IsEmpty());
  EXPECT_THAT(world.planner(5).scopes(), ElementsAre("SpineLayer/s1: 4"));
}

TEST(Planner, stays_within_the_place_that_it_is_told) {
  NetworkWorld world = twoSpines();
  world.demand.within = world.tree.above(*world.tree.placeOf(0), 1);
  EXPECT_THAT(world.best(3), ElementsAre(0, 0, 1));
  EXPECT_THAT(world.best(5), IsEmpty());
}

// For every network: a plan respects the offers, the scope and the multiples, and without multiples
// there is a plan exactly if some scope takes all pods.
TEST(Planner, plans_of_random_networks_keep_to_the_rules) {
  Random random(11);
  for (int round = 0; round < 2000; ++round) {
    NetworkWorld world;
    const auto nodes = 1 + random.below(12);
    for (std::uint64_t i = 0; i < nodes; ++i)
      world.node("s" + std::to_string(random.below(3)), "b" + std::to_string(random.below(3)),
                 static_cast<std::int64_t>(random.below(5)),
                 static_cast<std::int64_t>(random.below(2)));
    const bool multiples = random.below(2) == 0;
    if (multiples)
      for (int level = 0; level < 4; ++level)
        world.demand.multiples.push_back(static_cast<std::int64_t>(random.below(4)));
    const auto pods = static_cast<std::int64_t>(1 + random.below(10));
    const std::size_t level = random.below(4);
    const auto plans = world.planner(pods, level).plans(100);
    for (const auto& plan : plans) {
      ASSERT_EQ(std::ssize(plan), pods);
      std::map<NetworkTree::PlaceId, std::int64_t> taken;
      for (const NodeId node : plan)
        for (std::size_t at = 0; at <= 3; ++at)
          ++taken[world.tree.above(*world.tree.placeOf(node), at)];
      for (const auto& [place, count] : taken) {
        const auto& where = world.tree.place(place);
        EXPECT_TRUE(where.level != level || count == pods) << count;
        EXPECT_TRUE(where.node == kNoNode || count <= world.offers[where.node].slots) << count;
        const std::int64_t multiple = multiples ? world.demand.multiples[where.level] : 1;
        EXPECT_TRUE(multiple <= 1 || count % multiple == 0) << count;
      }
    }
    if (multiples) continue;
    std::int64_t most = 0;
    std::map<NetworkTree::PlaceId, std::int64_t> offered;
    for (NodeId node = 0; node < nodes; ++node)
      most = std::max(most, offered[world.tree.above(*world.tree.placeOf(node), level)] +=
                            world.offers[node].slots);
    EXPECT_EQ(plans.empty(), most < pods);
  }
}

TEST(Closeness, orders_nodes_by_the_pods_near_them_and_then_by_how_few_share_their_place) {
  NetworkWorld world;
  world.node("s1", "b1", 0).node("s1", "b2", 0).node("s2", "b3", 0, 1).node("s2", "b4", 0);
  world.node("s1", "b2", 0);
  const std::vector<NodeId> nodes{0, 1, 2, 3, 4, 9};
  EXPECT_THAT(byCloseness(world.tree, world.offers, nodes), ElementsAre(2, 3, 0, 1, 4, 9));
}

}  // namespace
}  // namespace koord::scheduler
