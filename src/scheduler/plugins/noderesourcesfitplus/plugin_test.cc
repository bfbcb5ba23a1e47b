#include "scheduler/plugins/noderesourcesfitplus/plugin.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "scheduler/testing/world.h"

namespace koord::scheduler {
namespace {

using testing::aNode;
using testing::aPod;
using testing::NodeBuilder;
using testing::PodBuilder;
using testing::quantity;
using testing::World;
using Args = NodeResourcesFitPlusArgs;

const Args kPackGpus{{{"nvidia.com/gpu", {"MostAllocated", 2}},
                      {"cpu", {"LeastAllocated", 1}},
                      {"memory", {"LeastAllocated", 1}}}};

struct OnOneNode {
  World world;
  explicit OnOneNode(const Args& args) {
    world.only(std::make_unique<NodeResourcesFitPlus>(world, args));
    world.node(aNode("n")
                   .allocatable("cpu", "96")
                   .allocatable("memory", "400Gi")
                   .allocatable("nvidia.com/gpu", "8"));
  }
  std::int64_t score(const PodBuilder& pod) { return world.scores(world.pod(pod)).at("n"); }
};

TEST(NodeResourcesFitPlus, weighs_the_strategies_of_what_the_pod_asks_for) {
  OnOneNode f(kPackGpus);
  f.world.bound(aPod("runs")
                    .nodeName("n")
                    .request("cpu", "40")
                    .request("memory", "100Gi")
                    .request("nvidia.com/gpu", "2"));
  const auto pod =
      aPod("p").request("cpu", "8").request("memory", "100Gi").request("nvidia.com/gpu", "2");
  EXPECT_EQ(f.score(pod), (2 * 50 + 50 + 50) / 4);
}

TEST(NodeResourcesFitPlus, leaves_out_what_the_pod_does_not_ask_for) {
  OnOneNode f(kPackGpus);
  EXPECT_EQ(f.score(aPod("p").request("cpu", "48")), 50);
  EXPECT_EQ(f.score(aPod("p").request("cpu", "48").request("nvidia.com/gpu", "0")), 50);
  EXPECT_EQ(f.score(aPod("p")), 100) << "nothing is configured of what it asks for";
  EXPECT_EQ(f.score(aPod("p").request("example.com/other", "1")), 100);
}

TEST(NodeResourcesFitPlus, counts_pods_that_ask_for_none_as_scores_do) {
  OnOneNode f({{{"cpu", {"MostAllocated", 1}}}});
  for (int n = 0; n < 240; ++n) f.world.bound(aPod("small-" + std::to_string(n)).nodeName("n"));
  EXPECT_EQ(f.score(aPod("p").request("cpu", "24")), 50) << "100m for each of them";
}

TEST(NodeResourcesFitPlus, scores_a_node_without_the_resource_or_beyond_it) {
  OnOneNode least({{{"example.com/fpga", {"LeastAllocated", 1}}, {"cpu", {"LeastAllocated", 1}}}});
  EXPECT_EQ(least.score(aPod("p").request("cpu", "48").request("example.com/fpga", "1")), 25)
      << "it counts as full";
  OnOneNode most({{{"cpu", {"MostAllocated", 1}}}});
  EXPECT_EQ(most.score(aPod("p").request("cpu", "200")), 100);
}

TEST(NodeResourcesFitPlus, counts_the_weight_of_a_strategy_that_it_does_not_know) {
  OnOneNode f({{{"cpu", {"LeastAllocated", 1}}, {"memory", {"SomeOther", 3}}}});
  EXPECT_EQ(f.score(aPod("p").request("cpu", "48").request("memory", "1Gi")), 50 / 4);
}

TEST(NodeResourcesFitPlus, stays_in_its_range_whatever_the_weights_are) {
  OnOneNode negative({{{"cpu", {"LeastAllocated", -1}}, {"memory", {"LeastAllocated", 2}}}});
  const auto pod = aPod("p").request("cpu", "96").request("memory", "200Gi");
  EXPECT_EQ(negative.score(pod), 100);
  OnOneNode none({{{"cpu", {"LeastAllocated", 0}}}});
  EXPECT_EQ(none.score(pod), 100);
  OnOneNode large({{{"cpu", {"LeastAllocated", INT64_MAX}}, {"memory", {"MostAllocated", 1}}}});
  EXPECT_EQ(large.score(aPod("p").request("cpu", "48").request("memory", "1Gi")), 49)
      << "no sum overflows";
}

TEST(NodeResourcesFitPlus, takes_overhead_in_the_unit_of_its_resource) {
  OnOneNode f({{{"cpu", {"MostAllocated", 1}}}});
  auto pod = aPod("p").request("cpu", "24");
  pod.object().spec.overhead["cpu"] = quantity("24");
  EXPECT_EQ(f.score(pod), 50);
}

// --- Compared with the rules on the objects alone.

struct Asked {
  std::int64_t cpu = -1, memory = -1, gpu = -1;  // -1: not set
  std::int64_t of(const std::string& name) const {
    return name == "cpu" ? cpu : name == "memory" ? memory : gpu;
  }
};

std::int64_t counted(const Asked& asked, const std::string& name) {
  const std::int64_t amount = asked.of(name);
  return amount >= 0 ? amount : name == "cpu" ? 100 : name == "memory" ? 200 << 20 : 0;
}

std::int64_t plainScore(const Args& args, const Asked& pod, const std::vector<Asked>& running,
                        const Asked& node) {
  std::int64_t sum = 0, weights = 0;
  for (const auto& [name, strategy] : args.resources) {
    if (pod.of(name) <= 0) continue;
    const std::int64_t all = std::max<std::int64_t>(node.of(name), 0);
    std::int64_t used = counted(pod, name);
    for (const Asked& other : running) used += counted(other, name);
    std::int64_t score = 0;
    if (all > 0 && strategy.type == "LeastAllocated" && used <= all)
      score = (all - used) * 100 / all;
    if (all > 0 && strategy.type == "MostAllocated") score = std::min(used, all) * 100 / all;
    sum += score * strategy.weight;
    weights += strategy.weight;
  }
  return weights == 0 ? 100 : sum / weights;
}

PodBuilder built(const std::string& name, const Asked& asked) {
  PodBuilder pod = aPod(name);
  if (asked.cpu >= 0) pod.request("cpu", std::to_string(asked.cpu) + "m");
  if (asked.memory >= 0) pod.request("memory", std::to_string(asked.memory));
  if (asked.gpu >= 0) pod.request("nvidia.com/gpu", std::to_string(asked.gpu));
  return pod;
}

TEST(NodeResourcesFitPlus, scores_as_a_plain_evaluation_does) {
  Random random(1);
  const auto below = [&](std::uint64_t limit) {
    return static_cast<std::int64_t>(random.below(limit));
  };
  const auto some = [&] {
    const auto one = [&](std::int64_t amount) { return random.chance(0.2) ? -1 : amount; };
    return Asked{one(below(5000)), one(below(8) << 30), one(below(4))};
  };
  for (int round = 0; round < 100; ++round) {
    Args args;
    for (const char* name : {"cpu", "memory", "nvidia.com/gpu"})
      if (random.chance(0.7))
        args.resources[name] = {random.chance(0.5) ? "LeastAllocated" : "MostAllocated", below(5)};
    World world;
    world.only(std::make_unique<NodeResourcesFitPlus>(world, args));
    std::map<std::string, Asked> nodes;
    std::map<std::string, std::vector<Asked>> running;
    for (int n = 0; n < 5; ++n) {
      const std::string name = "n" + std::to_string(n);
      const Asked& node = nodes[name] = {below(40) * 1000, below(64) << 30, below(9)};
      world.node(aNode(name)
                     .allocatable("cpu", std::to_string(node.cpu) + "m")
                     .allocatable("memory", std::to_string(node.memory))
                     .allocatable("nvidia.com/gpu", std::to_string(node.gpu)));
    }
    for (int p = 0; p < 40; ++p) {
      const Asked asked = some();
      const std::string name = "p" + std::to_string(p);
      const auto scores = world.scores(world.pod(built(name, asked)));
      for (const auto& [node, there] : nodes)
        ASSERT_EQ(scores.at(node), plainScore(args, asked, running[node], there))
            << "round " << round << " pod " << p << " on " << node;
      const std::string node = "n" + std::to_string(below(5));
      world.bound(built(name, asked).nodeName(node));
      running[node].push_back(asked);
    }
  }
}

}  // namespace
}  // namespace koord::scheduler
