#include "scheduler/plugins/nodenumaresource/plugin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "scheduler/plugins/nodenumaresource/numa_world.h"

namespace koord::scheduler {
namespace {

using testing::aNode;
using testing::aPod;
using testing::aService;
using testing::given;
using ::testing::HasSubstr;
using testing::kUnresolvable;
using testing::Machine;
using testing::NodeBuilder;
using testing::NumaWorld;
using testing::PodBuilder;
using testing::topologyOf;
using testing::withNumaPolicy;

const std::string kFull = R"({"requiredCPUBindPolicy":"FullPCPUs"})";
const std::string kSpread = R"({"requiredCPUBindPolicy":"SpreadByPCPUs"})";
const std::string kNotEnough = "Unschedulable: not enough cpus available to satisfy request";
const api::StringMap kFullOnly{{std::string(kLabelCpuBindPolicy), "FullPCPUsOnly"}};
api::StringMap policy(const char* name) {
  return {{std::string(kLabelNumaPolicy), name}};
}

// --- Binding.

TEST(NodeNuma, binds_services_that_ask_for_it_and_nobody_else) {
  NumaWorld f;
  f.machine("a");
  EXPECT_EQ(f.place(aService("lsr", "4")), R"({"cpuset":"0-3"})");
  auto ls = aService("ls", "4", kFull);
  ls.label(std::string(model::kLabelQos), "LS");
  EXPECT_EQ(f.place(ls), "");
  EXPECT_EQ(f.place(aService("batch", "4", kFull).priority(5500)), "");
  EXPECT_EQ(f.place(aService("spread", "4", kSpread)), R"({"cpuset":"8,10,12,14"})");
  f.expectSound();
}

TEST(NodeNuma, nodes_without_a_topology_bind_nobody) {
  NumaWorld f;
  f.world.node(aNode("a").allocatable("cpu", "16"));
  EXPECT_EQ(f.ask(aService("p", "4")), kUnresolvable + "node(s) invalid CPU Topology");
  EXPECT_EQ(f.ask(aPod("p").request("cpu", "4")), "");
  const auto bad = topologyOf("a", Machine{});
  bad->metadata.annotations[std::string(kAnnotationCpuTopology)] = R"({"detail":7})";
  f.report(bad);
  EXPECT_EQ(f.ask(aService("p", "4")), kUnresolvable + "node(s) invalid CPU Topology");
}

TEST(NodeNuma, whole_cpus_only) {
  NumaWorld f;
  f.machine("a", {}, kFullOnly);
  EXPECT_EQ(f.ask(aService("p", "2500m")), kUnresolvable + "the requested CPUs must be integer");
  EXPECT_EQ(f.ask(aPod("p").request("cpu", "1500m")),
            kUnresolvable + "the requested CPUs must be integer");
  EXPECT_EQ(f.ask(aPod("p").request("cpu", "3")),
            kUnresolvable + "node(s) requested cpus not multiple cpus per core");
  EXPECT_EQ(f.ask(aPod("p").request("cpu", "2")), "");
  EXPECT_EQ(f.ask(aPod("p").request("memory", "1Gi")), "");
}

TEST(NodeNuma, the_pods_required_policy_must_be_the_nodes) {
  NumaWorld f;
  f.machine("a", {}, kFullOnly);
  EXPECT_EQ(
      f.ask(aService("p", "2", kSpread)),
      kUnresolvable + "node(s) cpu bind policy conflicts with pod's required cpu bind policy");
  EXPECT_EQ(f.ask(aService("p", "2", kFull)), "");
}

TEST(NodeNuma, whole_cores_are_not_to_be_had_of_broken_ones) {
  NumaWorld f;
  f.machine("a", {1, 1, 4, 2}, kFullOnly);
  f.world.bound(given(aPod("x"), "a", R"({"cpuset":"0,2,4,6"})"));
  EXPECT_EQ(f.ask(aService("p", "2")), kNotEnough);
  NumaWorld other;
  other.machine("a", {1, 1, 4, 2});
  other.world.bound(given(aPod("x"), "a", R"({"cpuset":"0,2,4,6"})"));
  EXPECT_EQ(other.ask(aService("p", "2")), "");
  EXPECT_EQ(other.place(aService("p", "2")), R"({"cpuset":"1,3"})");
  EXPECT_EQ(other.ask(aService("q", "3")), kNotEnough);
}

TEST(NodeNuma, nobody_gets_reserved_cpus) {
  NumaWorld f;
  f.machine("a", {1, 1, 4, 2});
  const auto topology = topologyOf("a", {1, 1, 4, 2});
  topology->metadata.annotations[std::string(kAnnotationKubeletCpus)] =
      R"({"policy":"static","reservedCPUs":"0-3"})";
  f.report(topology);
  EXPECT_EQ(f.place(aService("p", "2")), R"({"cpuset":"4-5"})");
  EXPECT_EQ(f.ask(aService("q", "4")), kNotEnough);
}

TEST(NodeNuma, the_nodes_strategy_says_where_to_begin) {
  for (const auto& [strategy, cpus] : {std::pair{"MostAllocated", "2,4"},
                                       {"LeastAllocated", "8,10"},
                                       {"DistributeEvenly", "2,8"}}) {
    NumaWorld f;
    f.machine("a", {}, {{std::string(kLabelNumaStrategy), strategy}});
    f.world.bound(given(aPod("x"), "a", R"({"cpuset":"0-1"})"));
    EXPECT_EQ(f.place(aService("p", "2", R"({"preferredCPUBindPolicy":"SpreadByPCPUs"})")),
              fmt::format(R"({{"cpuset":"{}"}})", cpus));
  }
}

TEST(NodeNuma, two_that_want_to_be_alone_are_on_different_cores) {
  NumaWorld f;
  f.machine("a", {1, 1, 4, 2});
  const std::string alone =
      R"({"preferredCPUBindPolicy":"SpreadByPCPUs","preferredCPUExclusivePolicy":"PCPULevel"})";
  EXPECT_EQ(f.place(aService("p", "2", alone)), R"({"cpuset":"0,2"})");
  EXPECT_EQ(f.place(aService("q", "2", alone)), R"({"cpuset":"4,6"})");
  EXPECT_EQ(f.place(aService("r", "2", alone)), R"({"cpuset":"1,3"})");
}

TEST(NodeNuma, by_default_nobody_is_bound_where_the_arguments_say_so) {
  NodeNUMAResourceArgs args;
  args.defaultCPUBindPolicy = "";
  NumaWorld f(args);
  f.machine("a");
  EXPECT_EQ(f.place(aService("p", "2")), "");
  EXPECT_EQ(f.place(aService("q", "2", kFull)), R"({"cpuset":"0-1"})");
}

TEST(NodeNuma, annotations_that_cannot_be_read_are_errors_that_name_them) {
  NumaWorld f;
  f.machine("a");
  EXPECT_THAT(f.ask(aService("p", "2", "{")),
              HasSubstr(std::string(model::kAnnotationResourceSpec)));
  auto pod = aService("q", "2");
  pod.object().metadata.annotations[std::string(kAnnotationNumaSpec)] =
      R"({"numaTopologyPolicy":1})";
  EXPECT_THAT(f.ask(pod), HasSubstr("numaTopologyPolicy"));
  EXPECT_EQ(f.ask(aService("r", "2", R"({"requiredCPUBindPolicy":"Whatever"})")), "");
  EXPECT_EQ(f.place(aService("r", "2", R"({"requiredCPUBindPolicy":"Whatever"})")), "");
}

// --- NUMA policies.

TEST(NodeNuma, a_single_numa_node_is_one_with_room_for_all) {
  NumaWorld f;
  f.machine("a", {}, policy("SingleNUMANode"));
  EXPECT_EQ(f.place(aPod("p").request("cpu", "6").request("memory", "4Gi")),
            R"({"numaNodeResources":[{"node":0,"resources":{"cpu":"6","memory":"4Gi"}}]})");
  EXPECT_EQ(f.place(aPod("q").request("cpu", "6").request("memory", "4Gi")),
            R"({"numaNodeResources":[{"node":1,"resources":{"cpu":"6","memory":"4Gi"}}]})");
  EXPECT_EQ(f.ask(aPod("r").request("cpu", "4")),
            "Unschedulable: Unaligned NUMA Hint cause cpu prefer [11] among [11]");
  EXPECT_EQ(f.ask(aPod("r").request("cpu", "2")), "");
  EXPECT_EQ(f.ask(aPod("r").request("memory", "13Gi")),
            "Unschedulable: Unaligned NUMA Hint cause memory prefer [11] among [11]");
  f.expectSound();
}

TEST(NodeNuma, restricted_splits_where_one_is_not_enough) {
  NumaWorld f;
  f.machine("a", {}, policy("Restricted"));
  f.world.bound(
      given(aPod("x"), "a", R"({"numaNodeResources":[{"node":0,"resources":{"cpu":"5"}}]})"));
  EXPECT_EQ(f.place(aPod("p").request("cpu", "10").request("memory", "20Gi")),
            R"({"numaNodeResources":[{"node":0,"resources":{"cpu":"3","memory":"10Gi"}},)"
            R"({"node":1,"resources":{"cpu":"7","memory":"10Gi"}}]})");
  EXPECT_EQ(f.ask(aPod("q").request("cpu", "2")), "Unschedulable: Unsatisfied NUMA cpu");
}

TEST(NodeNuma, best_effort_aligns_as_well_as_it_can_and_has_to_have_room_at_all) {
  NumaWorld f;
  f.machine("a", {}, policy("BestEffort"));
  EXPECT_EQ(f.place(aPod("p").request("cpu", "6")),
            R"({"numaNodeResources":[{"node":0,"resources":{"cpu":"6"}}]})");
  EXPECT_EQ(f.place(aPod("q").request("cpu", "9")),
            R"({"numaNodeResources":[{"node":0,"resources":{"cpu":"2"}},)"
            R"({"node":1,"resources":{"cpu":"7"}}]})");
  EXPECT_EQ(f.ask(aPod("r").request("cpu", "1")), "");
  // Otherwise Reserve would reject it again and again.
  EXPECT_EQ(f.ask(aPod("s").request("cpu", "9")), "Unschedulable: Insufficient NUMA cpu");
}

TEST(NodeNuma, a_policy_without_zones_is_no_place) {
  NumaWorld f;
  f.world.node(aNode("a").label(std::string(kLabelNumaPolicy), "BestEffort"));
  EXPECT_EQ(f.ask(aPod("p").request("cpu", "1")),
            "UnschedulableAndUnresolvable: node(s) missing NUMA resources");
}

TEST(NodeNuma, bound_cpus_lie_in_the_zones_that_count_them) {
  NumaWorld f;
  f.machine("a", {}, policy("SingleNUMANode"));
  EXPECT_EQ(f.place(aService("p", "4")),
            R"({"cpuset":"0-3","numaNodeResources":[{"node":0,"resources":{"cpu":"4"}}]})");
  EXPECT_EQ(f.place(aService("q", "6", kFull)),
            R"({"cpuset":"8-13","numaNodeResources":[{"node":1,"resources":{"cpu":"6"}}]})");
  EXPECT_EQ(f.place(aService("r", "4", kSpread)), "Unsatisfied NUMA cpu");
  EXPECT_EQ(f.place(aService("s", "2", kSpread)),
            R"({"cpuset":"4,6","numaNodeResources":[{"node":0,"resources":{"cpu":"2"}}]})");
  f.expectSound();
}

TEST(NodeNuma, whole_cores_are_split_as_whole_cores) {
  NumaWorld f;
  f.machine("a", {}, policy("Restricted"));
  EXPECT_EQ(f.place(aService("p", "10", kFull)),
            R"({"cpuset":"0-3,8-13","numaNodeResources":[{"node":0,"resources":{"cpu":"4"}},)"
            R"({"node":1,"resources":{"cpu":"6"}}]})");
}

TEST(NodeNuma, policies_of_pod_and_node_must_agree) {
  NumaWorld f;
  f.machine("a", {}, policy("Restricted"));
  f.machine("b");
  const auto pod = withNumaPolicy(aPod("p").request("cpu", "6"), "SingleNUMANode");
  EXPECT_EQ(f.ask(pod), kUnresolvable + "node(s) NUMA Topology policy not match");
  EXPECT_EQ(f.ask(pod, "b"), "");
  EXPECT_EQ(f.place(pod, "b"), R"({"numaNodeResources":[{"node":0,"resources":{"cpu":"6"}}]})");
}

TEST(NodeNuma, a_node_without_zones_keeps_no_policy) {
  NumaWorld f;
  f.world.node(aNode("a").label(std::string(kLabelNumaPolicy), "Restricted"));
  EXPECT_EQ(f.ask(aPod("p").request("cpu", "1")), kUnresolvable + "node(s) missing NUMA resources");
}

TEST(NodeNuma, a_pod_alone_on_its_numa_node_shares_it_with_none_that_spans) {
  NumaWorld f;
  f.machine("a");
  f.world.bound(given(aPod("x"), "a", R"({"cpuset":"0-1,8-9"})"));
  const auto pod = [](const char* exclusive) {
    return withNumaPolicy(aService("p", "2"), "SingleNUMANode", exclusive);
  };
  EXPECT_THAT(f.ask(pod("")), HasSubstr("Unaligned NUMA Hint"));
  EXPECT_THAT(f.ask(pod("Required")), HasSubstr("Unaligned NUMA Hint"));
  EXPECT_EQ(f.ask(pod("Preferred")), "");
}

TEST(NodeNuma, the_emptier_numa_node_is_preferred) {
  NumaWorld f;
  f.machine("a", {}, policy("SingleNUMANode"));
  f.world.bound(
      given(aPod("x"), "a", R"({"numaNodeResources":[{"node":0,"resources":{"cpu":"1"}}]})"));
  EXPECT_THAT(f.place(aPod("p").request("cpu", "2")), HasSubstr(R"("node":1)"));
  NodeNUMAResourceArgs args;
  args.numaScoringStrategy.type = ScoringStrategy::Type::MostAllocated;
  NumaWorld packing(args);
  packing.machine("a", {}, policy("SingleNUMANode"));
  packing.world.bound(
      given(aPod("x"), "a", R"({"numaNodeResources":[{"node":1,"resources":{"cpu":"1"}}]})"));
  EXPECT_THAT(packing.place(aPod("p").request("cpu", "2")), HasSubstr(R"("node":1)"));
}

// --- Amplification.

TEST(NodeNuma, bound_cpus_cost_as_much_as_they_are_amplified) {
  NumaWorld f;
  testing::NodeBuilder node = aNode("a");
  node.allocatable("cpu", "15");
  node.object().metadata.annotations[std::string(kAnnotationAmplification)] = R"({"cpu":1.5})";
  f.world.node(node);
  f.report(topologyOf("a", {1, 1, 5, 2}));
  f.world.bound(given(aService("x", "4"), "a", R"({"cpuset":"0-3"})"));
  f.world.bound(aPod("y").request("cpu", "2").nodeName("a"));
  EXPECT_EQ(f.ask(aService("p", "4")), "");
  EXPECT_EQ(f.ask(aService("p", "5")), "Unschedulable: Insufficient amplified cpu");
  EXPECT_EQ(f.ask(aPod("p").request("cpu", "7")), "");
  EXPECT_EQ(f.ask(aPod("p").request("cpu", "7500m")), "Unschedulable: Insufficient amplified cpu");
  node.object().metadata.annotations[std::string(kAnnotationAmplification)] = "much";
  f.world.node(node);
  EXPECT_EQ(f.ask(aPod("p").request("cpu", "1")),
            kUnresolvable + "node(s) invalid CPU amplification ratio");
}

TEST(NodeNuma, bound_cpus_weigh_on_zones_whose_amounts_are_counted) {
  const auto placed = [](const char* others) {
    NumaWorld f;
    testing::NodeBuilder node = nodeOf("a", Machine{});
    node.label(std::string(kLabelNumaPolicy), "SingleNUMANode");
    node.object().metadata.annotations[std::string(kAnnotationAmplification)] = R"({"cpu":1.5})";
    f.world.node(node);
    f.report(topologyOf("a", Machine{}));
    f.world.bound(given(aService("x", "4"), "a", R"({"cpuset":"0-3"})"));
    f.world.bound(given(aPod("y"), "a", others));
    return f.place(aPod("p").request("cpu", "1"));
  };
  EXPECT_THAT(placed("{}"), HasSubstr(R"("node":0)"));
  EXPECT_THAT(placed(R"({"numaNodeResources":[{"node":0,"resources":{"memory":"1Mi"}},
                                              {"node":1,"resources":{"memory":"1Mi"}}]})"),
              HasSubstr(R"("node":1)"));
}

// --- Scores.

TEST(NodeNuma, scores_by_what_stays_free) {
  NumaWorld f;
  f.world.node(aNode("a").allocatable("cpu", "100").allocatable("memory", "200Gi"));
  f.world.bound(aPod("x").request("cpu", "20").request("memory", "60Gi").nodeName("a"));
  EXPECT_EQ(f.score(aPod("p").request("cpu", "10").request("memory", "20Gi")), 65);
  NodeNUMAResourceArgs args;
  args.scoringStrategy.type = ScoringStrategy::Type::MostAllocated;
  NumaWorld most(args);
  most.world.node(aNode("a").allocatable("cpu", "100").allocatable("memory", "200Gi"));
  most.world.bound(aPod("x").request("cpu", "20").request("memory", "60Gi").nodeName("a"));
  EXPECT_EQ(most.score(aPod("p").request("cpu", "10").request("memory", "20Gi")), 35);
}

// Pods with plain requests are scored by columns, except on particular nodes.
TEST(NodeNuma, scores_a_node_alike_alone_and_among_others) {
  NumaWorld f;
  Random random(3);
  for (int n = 0; n < 200; ++n) {
    const std::string name = fmt::format("n{}", n);
    const Machine machine{1, 1 + static_cast<int>(random.below(2)), 4, 2,
                          8 + static_cast<int>(random.below(40))};
    api::StringMap labels, annotations;
    if (n % 10 == 0) labels[std::string(kLabelNumaPolicy)] = "SingleNUMANode";
    if (n % 10 == 1) labels[std::string(kLabelCpuBindPolicy)] = "FullPCPUsOnly";
    if (n % 10 == 2) annotations[std::string(kAnnotationAmplification)] = R"({"cpu":1.5})";
    if (n % 2 == 0) {
      f.machine(name, machine, labels, annotations);
    } else {
      NodeBuilder node = testing::nodeOf(name, machine);
      for (const auto& [key, value] : labels) node.label(key, value);
      node.object().metadata.annotations = annotations;
      f.world.node(node);
    }
    if (random.below(3) != 0)
      f.world.bound(aPod(fmt::format("old-{}", n))
                        .request("cpu", fmt::format("{}m", random.below(4000)))
                        .request("memory", fmt::format("{}Mi", random.below(4000)))
                        .nodeName(name));
  }
  const PodPtr pod = f.world.pod(aPod("p").request("cpu", "700m").request("memory", "3Gi"));
  const auto all = f.world.scores(pod);
  ASSERT_EQ(all.size(), 200u);
  const Cluster& cluster = f.cluster();
  for (const auto& [name, score] : all) {
    EXPECT_EQ(f.world.scores(pod, {name}).at(name), score) << name;
    const NodeId node = f.id(name);
    if (f.table().nodesAffectingPlainPods().contains(node)) continue;
    std::int64_t sum = 0;
    for (const ResourceId id : {kCpu, kMemory}) {
      const std::int64_t there = cluster.allocatable(id)[node];
      sum += (there - cluster.requested(id)[node] - pod->request.amount(id)) * 100 / there;
    }
    EXPECT_EQ(score, sum / 2) << name;
  }
  EXPECT_EQ(f.table().nodesAffectingPlainPods().size(), 60u);
}

// NodeResourcesFit scores by the same rule. Its scores are reused unless a node is particular; the
// choice must be that of all plugins called one by one.
TEST(NodeNuma, shares_scores_with_NodeResourcesFit_where_they_are_the_same) {
  NumaWorld f({}, testing::kWithNuma);
  Random random(11);
  for (int n = 0; n < 40; ++n) {
    const std::string name = fmt::format("n{}", n);
    const Machine machine{1, 2, 4, 2, 16 + static_cast<int>(random.below(64))};
    f.machine(name, machine, n % 8 == 0 ? policy("BestEffort") : api::StringMap());
    if (n % 5 == 0) f.world.bound(aPod(fmt::format("says-nothing-{}", n)).nodeName(name));
    f.world.bound(aPod(fmt::format("old-{}", n))
                      .request("cpu", fmt::format("{}m", random.below(4000)))
                      .request("memory", fmt::format("{}Mi", random.below(8000)))
                      .nodeName(name));
  }
  std::vector<NodeId> all;
  f.cluster().live().copyTo(all);
  for (int n = 0; n < 120; ++n) {
    PodBuilder builder = aPod(fmt::format("p{}", n)).request("cpu", n % 2 == 0 ? "300m" : "1");
    if (n % 3 != 0) builder.request("memory", "1Gi");
    const PodPtr pod = f.world.pod(builder);
    CycleState state;
    const SearchResult found = f.world.search().find(state, pod);
    ASSERT_TRUE(found.status.ok()) << found.diagnosis.message();
    ASSERT_EQ(found.feasible, all.size());
    const auto table = f.world.search().scoreNodes(state, pod, all);
    ASSERT_TRUE(table);
    const auto at = std::ranges::find(all, found.node) - all.begin();
    ASSERT_EQ(table->totals[static_cast<std::size_t>(at)], std::ranges::max(table->totals)) << n;
    ASSERT_TRUE(f.cluster().assume(pod, found.node));
  }
}

TEST(NodeNuma, bound_cpus_are_amplified_in_the_score_of_a_node_without_a_policy_only) {
  NumaWorld f;
  testing::NodeBuilder node = aNode("a");
  node.allocatable("cpu", "30").allocatable("memory", "100Gi");
  node.object().metadata.annotations[std::string(kAnnotationAmplification)] = R"({"cpu":1.5})";
  f.world.node(node);
  f.report(topologyOf("a", Machine{}));
  f.world.bound(given(aService("x", "4"), "a", R"({"cpuset":"0-3"})"));
  const auto pod = [] { return aPod("p").request("cpu", "5").request("memory", "20Gi"); };
  EXPECT_EQ(f.score(pod()), (100 * (30 - 6 - 5) / 30 + 80) / 2);
  EXPECT_EQ(f.score(withNumaPolicy(pod(), "BestEffort")), (100 * (30 - 4 - 5) / 30 + 80) / 2);
}

TEST(NodeNuma, scores_the_zones_that_the_pod_would_get) {
  NumaWorld f;
  f.machine("a", {}, policy("SingleNUMANode"));
  f.world.bound(given(aPod("x").request("cpu", "4"), "a",
                      R"({"numaNodeResources":[{"node":0,"resources":{"cpu":"4"}}]})"));
  EXPECT_EQ(f.score(aPod("p").request("cpu", "4").request("memory", "8Gi")), 50);
}

// --- Allocations, in any order of events.

TEST(NodeNuma, pods_may_be_seen_before_their_nodes_topology) {
  NumaWorld f;
  f.world.bound(given(aService("x", "4"), "a", R"({"cpuset":"0-3"})"));
  f.world.node(testing::nodeOf("a", Machine{}));
  EXPECT_EQ(f.ask(aService("p", "4")), kUnresolvable + "node(s) invalid CPU Topology");
  f.report(topologyOf("a", Machine{}));
  EXPECT_EQ(f.place(aService("p", "4", kFull)), R"({"cpuset":"8-11"})");
  f.world.stores().of<CpuReport>().erase({"", "a"});
  EXPECT_EQ(f.ask(aService("q", "4")), kUnresolvable + "node(s) invalid CPU Topology");
  f.report(topologyOf("a", Machine{}));
  EXPECT_EQ(f.place(aService("q", "8")), R"({"cpuset":"4-7,12-15"})");
  f.expectSound();
}

TEST(NodeNuma, a_node_that_comes_back_has_the_cpus_that_its_pods_left) {
  NumaWorld f;
  f.machine("a");
  f.world.bound(given(aService("x", "4"), "a", R"({"cpuset":"0-3"})"));
  f.cluster().removeNode("a");
  f.machine("a");
  EXPECT_EQ(f.place(aService("p", "8", kFull)), R"({"cpuset":"8-15"})");
  f.cluster().removePod("uid-default-x");
  EXPECT_EQ(f.place(aService("q", "8", kFull)), R"({"cpuset":"0-7"})");
  f.expectSound();
}

TEST(NodeNuma, what_is_taken_back_is_free_again) {
  NumaWorld f;
  f.machine("a", {1, 1, 4, 2});
  {
    Cluster::Transaction whatIf(f.cluster());
    EXPECT_EQ(f.place(aService("p", "8")), R"({"cpuset":"0-7"})");
    EXPECT_EQ(f.ask(aService("q", "2")), kNotEnough);
  }
  EXPECT_EQ(f.ask(aService("q", "2")), "");
  f.expectSound();
}

TEST(NodeNuma, a_status_that_cannot_be_read_keeps_what_was_known) {
  NumaWorld f;
  f.machine("a", {1, 1, 4, 2});
  f.world.bound(given(aService("x", "4"), "a", R"({"cpuset":"0-3"})"));
  for (const char* wrong :
       {"{", R"({"cpuset":"a"})", R"({"cpuset":7})", R"({"numaNodeResources":[{"node":-1}]})",
        R"({"numaNodeResources":[{"node":0,"resources":{"cpu":"-2"}}]})"}) {
    f.world.bound(given(aService("x", "4"), "a", wrong).version("2"));
    EXPECT_EQ(f.placed("x"), "0-3") << wrong;
    f.world.bound(given(aService("y", "4"), "a", wrong));
    EXPECT_EQ(f.placed("y"), "nothing") << wrong;
  }
  f.expectSound();
}

TEST(NodeNuma, cpus_that_the_machine_does_not_have_do_no_harm) {
  NumaWorld f;
  f.machine("a", {1, 1, 4, 2});
  f.world.bound(given(aService("x", "4"), "a", R"({"cpuset":"6-9,4000"})"));
  EXPECT_EQ(f.place(aService("p", "6")), R"({"cpuset":"0-5"})");
  f.expectSound();
}

TEST(NodeNuma, a_report_changes_answers_that_were_kept) {
  NumaWorld f;
  f.machine("a", {1, 1, 4, 2});
  const PodPtr pod = f.world.pod(aService("p", "6"));
  EXPECT_EQ(f.world.filter(pod)["a"], "");
  const auto topology = topologyOf("a", {1, 1, 4, 2});
  topology->metadata.annotations[std::string(kAnnotationKubeletCpus)] = R"({"reservedCPUs":"0-3"})";
  f.report(topology);
  EXPECT_EQ(f.world.filter(pod)["a"], kNotEnough);
}

TEST(NodeNuma, a_pod_gets_again_what_it_is_to_have_again) {
  NumaWorld f;
  f.machine("a");
  auto pod = aService("p", "2");
  pod.object().metadata.annotations[std::string(model::kAnnotationSchedulingHint)] =
      R"({"extensions":{"NodeNUMAResource":{}}})";
  pod.object().metadata.annotations[std::string(model::kAnnotationResourceStatus)] =
      R"({"cpuset":"5,13"})";
  EXPECT_EQ(f.ask(pod), "");
  EXPECT_EQ(f.place(pod), R"({"cpuset":"5,13"})");
  auto other = pod;
  other.object().metadata.name = "q";
  other.object().metadata.uid = "uid-q";
  EXPECT_EQ(f.ask(other), kNotEnough);
}

struct PreBinding {
  static Task<void> run(NodeNumaResource* plugin, CycleState* state, PodPtr pod, NodeId node,
                        Status* result) {
    auto binding = plugin->preBind(*state, pod, node);
    *result = co_await binding;
  }
};

TEST(NodeNuma, cpus_that_somebody_else_gave_away_are_not_bound) {
  NumaWorld f;
  f.machine("a");
  const PodPtr pod = f.world.pod(aService("p", "4"));
  EXPECT_EQ(f.place(aService("p", "4")), R"({"cpuset":"0-3"})");
  const auto bind = [&] {
    CycleState state;
    Status status;
    TaskGroup tasks;
    tasks.spawn(PreBinding::run(f.plugin, &state, pod, f.id("a"), &status));
    f.world.loop().runReady();
    return status.ok() ? state.annotations().at(model::kAnnotationResourceStatus)
                       : status.message();
  };
  EXPECT_EQ(bind(), R"({"cpuset":"0-3"})");
  f.world.bound(given(aService("q", "2"), "a", R"({"cpuset":"3-4"})"));
  EXPECT_EQ(bind(), "CPUs 3 were allocated to default/q in the meantime");
}

// --- Endpoints and explain.

TEST(NodeNuma, tells_what_a_node_has) {
  NumaWorld f;
  f.machine("a", {1, 1, 2, 2}, policy("Restricted"));
  f.world.bound(
      given(aService("x", "2"), "a",
            R"({"cpuset":"0-1","numaNodeResources":[{"node":0,"resources":{"cpu":"2"}}]})"));
  const auto route = f.plugin->routes().front();
  EXPECT_FALSE(route.answer("nobody"));
  const auto answer = route.answer("a");
  ASSERT_TRUE(answer);
  EXPECT_EQ(textAt(*answer, "availableCPUs"), "2-3");
  EXPECT_EQ(textAt(*answer, "numaTopologyPolicy"), "Restricted");
  EXPECT_EQ(at(*answer, "cpuTopology", "numCores")->to_number<int>(), 2);
  EXPECT_EQ(at(*answer, "allocatedCPUs", "0", "refCount")->to_number<int>(), 1);
  EXPECT_EQ(toJson(*at(*answer, "remainingNUMANodeResources")),
            R"([{"node":0,"resources":{"cpu":"2","memory":"16Gi"}}])");
  EXPECT_EQ(textAt(at(*answer, "allocatedPods")->as_array()[0], "cpuset"), "0-1");
  EXPECT_THAT(f.plugin->metrics(), HasSubstr("{node_name=\"a\",numa=\"0\",state=\"bound\"} 2\n"));
  EXPECT_THAT(f.plugin->metrics(), HasSubstr("{node_name=\"a\",numa=\"0\",state=\"free\"} 2\n"));
}

TEST(NodeNuma, says_what_would_help) {
  NumaWorld f;
  const NodeId node = f.machine("a", {1, 1, 2, 2});
  f.world.bound(given(aPod("x"), "a", R"({"cpuset":"0,2"})"));
  EXPECT_EQ(
      f.plugin->remedyFor(*f.world.pod(aService("p", "2", kFull)), node),
      "prefer FullPCPUs instead of requiring it: 2 CPUs are free, 0 of them with this policy");
  EXPECT_EQ(f.plugin->remedyFor(*f.world.pod(aService("p", "4")), node),
            "free 2 more CPUs: 2 of 4 are neither held nor reserved");
}

}  // namespace
}  // namespace koord::scheduler
