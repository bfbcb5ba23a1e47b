#include <gtest/gtest.h>

#include "scheduler/plugins/noderesources/fit.h"
#include "scheduler/testing/world.h"

namespace koord::scheduler {
namespace {

using testing::aNode;
using testing::aPod;
using testing::PodBuilder;
using testing::quantity;
using testing::World;

// Observed with kube-scheduler 1.36: the pod being scheduled counts with its containers, a running
// pod with pod-level resources, too.
TEST(NodeResourcesFit, amounts_of_the_pod_as_a_whole_count_in_scores_once_it_runs) {
  World world;
  world.only(std::make_unique<NodeResourcesFit>(world, NodeResourcesFitArgs{}));
  world.node(aNode("n").allocatable("cpu", "8").allocatable("memory", "16Gi"));
  PodBuilder pod = aPod("p").request("cpu", "2").request("memory", "4Gi");
  EXPECT_EQ(world.scores(world.pod(pod))["n"], 75);
  auto& whole = pod.object().spec.resources.emplace().requests;
  whole["cpu"] = quantity("4");
  whole["memory"] = quantity("8Gi");
  EXPECT_EQ(world.scores(world.pod(pod))["n"], 75);
  world.bound(PodBuilder(pod).nodeName("n"));
  EXPECT_EQ(world.scores(world.pod(aPod("q").request("cpu", "2").request("memory", "4Gi")))["n"],
            25);
}

// One node with that much memory.
struct OneNode {
  World world;

  explicit OneNode(const char* memory) {
    world.only(std::make_unique<NodeResourcesFit>(world, NodeResourcesFitArgs{}));
    world.node(aNode("n").allocatable("memory", memory));
  }
  bool fits(const char* memory) {
    return world.place(world.pod(aPod("asks").request("memory", memory))) == "n";
  }
  void run(const char* name, const char* memory) {
    world.bound(aPod(name).request("memory", memory).nodeName("n"));
  }
  void end(const std::string& name) { world.cluster().removePod("uid-default-" + name); }
  std::string differences() { return world.cluster().verifyNode(*world.cluster().findNode("n")); }
};

constexpr const char* kHighest = "9223372036854775807";  // 2^63 - 1, which 8Ei is clamped to

TEST(NodeResourcesFit, requests_for_what_no_node_has_cost_no_column_and_count_once_a_node_has_it) {
  OneNode one("8Gi");
  Cluster& cluster = one.world.cluster();
  const NodeId n = *cluster.findNode("n");
  PodBuilder early = aPod("early").nodeName("n");
  for (const char* name : {"made.up/a", "made.up/b"}) early.request(name, "2");
  one.world.bound(early);
  const ResourceId a = cluster.resources().intern("made.up/a");
  const ResourceId b = cluster.resources().intern("made.up/b");
  EXPECT_EQ(cluster.requested(a).data(), cluster.requested(b).data()) << "the one column of zeros";
  EXPECT_EQ(one.differences(), "");
  one.world.node(aNode("n").allocatable("memory", "8Gi").allocatable("made.up/a", "3"));
  EXPECT_EQ(cluster.requested(a)[n], 2);
  EXPECT_EQ(cluster.requested(b)[n], 0);
  EXPECT_NE(one.world.place(one.world.pod(aPod("p").request("made.up/a", "2"))), "n");
  EXPECT_EQ(one.world.place(one.world.pod(aPod("q").request("made.up/a", "1"))), "n");
  EXPECT_EQ(one.differences(), "");
  one.end("early");
  EXPECT_EQ(cluster.requested(a)[n], 0);
  EXPECT_EQ(one.differences(), "");
}

TEST(NodeResourcesFit, amounts_up_to_the_most_that_can_be_said_count) {
  struct Case {
    const char* has;
    const char* asks;
    bool fits;
  };
  for (const Case& c : {
           Case{"1Pi", "1Pi", true},  // 2^50
           Case{"4Ei", "4Ei", true},  // 2^62
           Case{"7Ei", "4Ei", true},
           Case{"4Ei", "4611686018427387905", false},  // one byte more
           Case{"4611686018427387903", "4Ei", false},  // one byte less
           Case{kHighest, kHighest, true},
           Case{"9223372036854775806", kHighest, false},
           Case{kHighest, "9223372036854775808", false},
           Case{kHighest, "99E", false},
           Case{"99E", "8E", true},
       }) {
    OneNode node(c.has);
    EXPECT_EQ(node.fits(c.asks), c.fits) << c.asks << " of " << c.has;
  }
}

TEST(NodeResourcesFit, what_one_huge_pod_leaves_is_counted_to_the_byte) {
  OneNode node("7Ei");
  node.run("first", "4Ei");
  EXPECT_FALSE(node.fits("4Ei"));
  EXPECT_TRUE(node.fits("3Ei"));
  EXPECT_FALSE(node.fits("3458764513820540929"));  // 3Ei and a byte
  node.end("first");
  EXPECT_TRUE(node.fits("7Ei"));
}

TEST(NodeResourcesFit, sums_beyond_what_can_be_said_come_back_exactly) {
  OneNode node("7Ei");
  // Bound by another scheduler: 12Ei on a node of 7Ei.
  for (const char* name : {"a", "b", "c"}) node.run(name, "4Ei");
  EXPECT_EQ(node.differences(), "");
  EXPECT_FALSE(node.fits("1"));
  node.end("a");
  EXPECT_FALSE(node.fits("1"));
  node.end("b");
  EXPECT_TRUE(node.fits("3Ei"));
  EXPECT_FALSE(node.fits("4Ei"));
  node.end("c");
  EXPECT_TRUE(node.fits("7Ei"));
  EXPECT_EQ(node.differences(), "");
}

TEST(NodeResourcesFit, a_what_if_with_huge_pods_leaves_no_trace) {
  OneNode node("7Ei");
  node.run("a", "4Ei");
  {
    Cluster::Transaction whatIf(node.world.cluster());
    node.run("b", kHighest);
    node.end("a");
    EXPECT_FALSE(node.fits("1"));
  }
  EXPECT_TRUE(node.fits("3Ei"));
  EXPECT_EQ(node.differences(), "");
}

// Once an overflowing amount was there, sums and shares are computed in the slow, exact way.
TEST(NodeResourcesFit, scores_are_the_same_whether_huge_amounts_were_ever_there_or_not) {
  for (const ScoringType type : {ScoringType::LeastAllocated, ScoringType::MostAllocated}) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      Random random(seed);
      World plain, careful;
      NodeResourcesFitArgs args;
      args.type = type;
      args.resources.push_back({"memory", 3});
      for (World* world : {&plain, &careful})
        world->only(std::make_unique<NodeResourcesFit>(*world, args));
      for (int n = 0; n < 20; ++n) {
        const std::string name = "n" + std::to_string(n);
        auto node = aNode(name).allocatable("cpu", std::to_string(random.below(64)));
        node.allocatable("memory", std::to_string(random.below(1'000'000'000)));
        auto pod = aPod("on-" + name).nodeName(name);
        pod.request("cpu", std::to_string(random.below(40)));
        pod.request("memory", std::to_string(random.below(800'000'000)));
        for (World* world : {&plain, &careful}) {
          world->node(node);
          world->bound(pod);
        }
      }
      careful.bound(aPod("huge").request("cpu", "90P").request("memory", kHighest).nodeName("n1"));
      careful.cluster().removePod("uid-default-huge");
      const auto pod = aPod("p").request("cpu", "3").request("memory", "100M");
      EXPECT_EQ(plain.scores(plain.pod(pod)), careful.scores(careful.pod(pod))) << "seed " << seed;
      EXPECT_EQ(plain.filter(plain.pod(pod)), careful.filter(careful.pod(pod))) << "seed " << seed;
    }
  }
}

// Devices back example.com/gpu: eight on each node, of which six are in use on node "busy".
class Backing final : public Plugin, public DeviceBackedResources {
 public:
  explicit Backing(Cluster& cluster) : cluster_(cluster) {}
  std::string_view name() const override { return "Backing"; }
  bool isBacked(ResourceId resource) const override {
    return cluster_.resources().name(resource) == "example.com/gpu";
  }
  Devices devicesOn(ResourceId, NodeId node) const override {
    return {8, cluster_.node(node).name == "busy" ? 6 : 0};
  }
  bool beginsToBack(const ClusterEvent&, const PodInfo&) const override { return true; }

 private:
  Cluster& cluster_;
};

TEST(NodeResourcesFit, devices_stand_for_resources_on_nodes_without_a_device_plugin) {
  World world;
  NodeResourcesFitArgs args;
  args.resources = {{"example.com/gpu", 1}};
  auto& fit =
      dynamic_cast<NodeResourcesFit&>(world.only(std::make_unique<NodeResourcesFit>(world, args)));
  world.offer(std::make_unique<Backing>(world.cluster()));
  world.node(aNode("busy"));
  world.node(aNode("idle"));
  world.node(aNode("plugin").allocatable("example.com/gpu", "4"));
  world.node(aNode("full").allocatable("example.com/gpu", "1"));
  const PodPtr pod = world.pod(aPod("p").request("example.com/gpu", "2"));
  using Answers = std::map<std::string, std::string>;
  EXPECT_EQ(world.filter(pod),
            (Answers{{"busy", ""},
                     {"idle", ""},
                     {"plugin", ""},
                     {"full", testing::kUnresolvable + "Insufficient example.com/gpu"}}));
  EXPECT_EQ(world.scores(pod, {"busy", "idle", "plugin"}),
            (std::map<std::string, std::int64_t>{{"busy", 0}, {"idle", 75}, {"plugin", 50}}));
  EXPECT_FALSE(fit.counts(*world.cluster().resources().find("example.com/gpu")));
  EXPECT_EQ(world.filter(world.pod(aPod("q").request("example.com/other", "1")))["idle"],
            testing::kUnresolvable + "Insufficient example.com/other");
}

}  // namespace
}  // namespace koord::scheduler
