#include "scheduler/plugins/scarceresourceavoidance/plugin.h"

#include <gtest/gtest.h>

#include <set>

#include "scheduler/testing/world.h"

namespace koord::scheduler {
namespace {

using testing::aNode;
using testing::aPod;
using testing::NodeBuilder;
using testing::PodBuilder;
using testing::World;

constexpr const char* kGpu = "nvidia.com/gpu";

// A node with exactly these resources.
NodeBuilder nodeWith(const std::string& name, const std::vector<std::string>& resources) {
  NodeBuilder node = aNode(name);
  node.object().status.allocatable.clear();
  node.allocatable("pods", "110");
  for (const std::string& resource : resources) node.allocatable(resource, "8");
  return node;
}

struct WithScarce {
  World world;
  explicit WithScarce(std::vector<std::string> resources) {
    world.only(std::make_unique<ScarceResourceAvoidance>(
        world, ScarceResourceAvoidanceArgs{std::move(resources)}));
  }
  std::map<std::string, std::int64_t> scores(const PodBuilder& pod) {
    return world.scores(world.pod(pod));
  }
};

TEST(ScarceResourceAvoidance, prefers_nodes_without_what_is_scarce) {
  WithScarce f({kGpu});
  f.world.node(nodeWith("gpus", {"cpu", "memory", "ephemeral-storage", kGpu}));
  f.world.node(nodeWith("only", {"cpu", "memory", kGpu}));
  f.world.node(nodeWith("plain", {"cpu", "memory", "ephemeral-storage"}));
  const auto pod = aPod("p").request("cpu", "1").request("memory", "1");
  const std::map<std::string, std::int64_t> expected{{"gpus", 50}, {"only", 0}, {"plain", 100}};
  EXPECT_EQ(f.scores(pod), expected);
}

TEST(ScarceResourceAvoidance, lets_those_in_that_ask_for_it) {
  WithScarce f({kGpu});
  f.world.node(nodeWith("gpus", {"cpu", "memory", kGpu}));
  EXPECT_EQ(f.scores(aPod("p").request(kGpu, "1")).at("gpus"), 100);
  EXPECT_EQ(f.scores(aPod("p").request("cpu", "1").request(kGpu, "0")).at("gpus"), 50)
      << "asking for none is not asking";
}

TEST(ScarceResourceAvoidance, says_nothing_where_nothing_is_scarce) {
  WithScarce f({});
  f.world.node(nodeWith("gpus", {"cpu", kGpu}));
  f.world.node(nodeWith("bare", {}));
  const std::map<std::string, std::int64_t> expected{{"gpus", 100}, {"bare", 100}};
  EXPECT_EQ(f.scores(aPod("p")), expected);
}

TEST(ScarceResourceAvoidance, does_not_count_what_a_node_has_none_of) {
  WithScarce f({kGpu});
  NodeBuilder node = nodeWith("broken", {"cpu"});
  node.allocatable(kGpu, "0");
  f.world.node(node);
  EXPECT_EQ(f.scores(aPod("p").request("cpu", "1")).at("broken"), 100);
}

TEST(ScarceResourceAvoidance, heeds_nodes_that_change) {
  WithScarce f({kGpu});
  f.world.node(nodeWith("n", {"cpu", kGpu}));
  const auto pod = aPod("p").request("cpu", "1");
  EXPECT_EQ(f.scores(pod).at("n"), 0);
  f.world.node(nodeWith("n", {"cpu", kGpu, "example.com/disk"}));
  EXPECT_EQ(f.scores(pod).at("n"), 50) << "a resource that nobody has named before";
  f.world.node(nodeWith("n", {"cpu"}));
  EXPECT_EQ(f.scores(pod).at("n"), 100);
}

TEST(ScarceResourceAvoidance, scores_as_a_plain_evaluation_does) {
  Random random(1);
  const std::vector<std::string> all{"cpu", "memory",        "ephemeral-storage",
                                     kGpu,  "example.com/a", "example.com/b"};
  const auto some = [&](double share) {
    std::vector<std::string> names;
    for (const std::string& name : all)
      if (random.chance(share)) names.push_back(name);
    return names;
  };
  for (int round = 0; round < 200; ++round) {
    const auto scarce = some(0.4);
    WithScarce f(scarce);
    std::map<std::string, std::vector<std::string>> nodes;
    for (int n = 0; n < 4; ++n) {
      const std::string name = "n" + std::to_string(n);
      nodes[name] = some(0.6);
      f.world.node(nodeWith(name, nodes[name]));
    }
    const auto asked = some(0.4);
    PodBuilder pod = aPod("p");
    for (const std::string& name : asked) pod.request(name, "1");
    const auto scores = f.scores(pod);
    for (const auto& [node, has] : nodes) {
      std::set<std::string> beyond(has.begin(), has.end());
      for (const std::string& name : asked) beyond.erase(name);
      std::int64_t rare = 0;
      for (const std::string& name : scarce) rare += static_cast<std::int64_t>(beyond.count(name));
      const auto count = static_cast<std::int64_t>(beyond.size());
      ASSERT_EQ(scores.at(node), rare == 0 ? 100 : (count - rare) * 100 / count)
          << "round " << round << " on " << node;
    }
  }
}

}  // namespace
}  // namespace koord::scheduler
