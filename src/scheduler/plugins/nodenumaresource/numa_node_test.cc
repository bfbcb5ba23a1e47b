#include "scheduler/plugins/nodenumaresource/numa_node.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/node_reservation.h"
#include "model/well_known.h"
#include "scheduler/plugins/nodenumaresource/numa_world.h"

namespace koord::scheduler {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Machine;
using testing::nodeOf;
using testing::quantity;
using testing::topologyOf;

struct Reading {
  ResourceNames names;
  KindOf<CpuReport>::Reader reader;
  std::shared_ptr<api::NodeResourceTopology> topology = topologyOf("a", Machine{});
  testing::NodeBuilder node = nodeOf("a", Machine{});
  Reading& say(std::string_view annotation, std::string text) {
    topology->metadata.annotations[std::string(annotation)] = std::move(text);
    return *this;
  }
  Reading& label(std::string_view key, std::string text) {
    node.label(std::string(key), std::move(text));
    return *this;
  }
  CpuReport report() {
    CpuReport read(*topology);
    reader.read(read);
    return read;
  }
  NumaNode read() {
    const CpuReport known = report();
    return readNumaNode(names, &node.object(), &known);
  }
};

TEST(NumaNode, adds_up_everybody_who_reserves_cpus) {
  Reading r;
  r.say(kAnnotationPodCpuAllocs,
        R"([{"name":"p","uid":"u","cpuset":"0-1","managedByKubelet":true},
            {"name":"q","uid":"v","cpuset":"4"},{"name":"r","cpuset":"5","managedByKubelet":true}])");
  r.say(kAnnotationKubeletCpus, R"({"policy":"none","reservedCPUs":"2"})");
  r.say(model::kAnnotationNodeReservation, R"({"reservedCPUs":"8"})");
  r.say(model::kAnnotationSystemQosResource, R"({"cpuset":"9"})");
  const NumaNode node = r.read();
  EXPECT_EQ(node.reserved.toString(), "0-2,8-9");
  EXPECT_EQ(node.zones[0].total.base[kCpu], 5000);
  EXPECT_EQ(node.zones[1].total.base[kCpu], 6000);
  EXPECT_THAT(node.problems, IsEmpty());
  r.say(model::kAnnotationSystemQosResource, R"({"cpuset":"9","cpusetExclusive":false})");
  EXPECT_EQ(r.read().reserved.toString(), "0-2,8");
}

TEST(NumaNode, the_kubelets_whole_cores_count_more_than_the_label) {
  Reading r;
  EXPECT_EQ(r.label(kLabelCpuBindPolicy, "SpreadByPCPUs").read().bind,
            CpuBindPolicy::SpreadByPCPUs);
  r.say(kAnnotationKubeletCpus, R"({"policy":"static","options":{"full-pcpus-only":"true"}})");
  EXPECT_EQ(r.read().bind, CpuBindPolicy::FullPCPUs);
  Reading other;
  EXPECT_EQ(other.label(kLabelCpuBindPolicy, "Sometimes").read().bind, CpuBindPolicy::None);
}

TEST(NumaNode, the_labels_numa_policy_counts_more_than_the_reports) {
  Reading r;
  r.topology->topologyPolicies = {"SingleNUMANodeContainerLevel", "Restricted", "BestEffort"};
  EXPECT_EQ(r.read().policy, NumaPolicy::Restricted);
  r.topology->topologyPolicies = {"SingleNUMANodePodLevel"};
  EXPECT_EQ(r.read().policy, NumaPolicy::SingleNumaNode);
  EXPECT_EQ(r.label(kLabelNumaPolicy, "BestEffort").read().policy, NumaPolicy::BestEffort);
}

TEST(NumaNode, an_unknown_numa_policy_is_none_and_is_told) {
  Reading r;
  const NumaNode node = r.label(kLabelNumaPolicy, "Loose").read();
  EXPECT_EQ(node.policy, NumaPolicy::None);
  EXPECT_THAT(node.problems,
              Contains(HasSubstr("metadata.labels[" + std::string(kLabelNumaPolicy))));
  Reading none;
  EXPECT_THAT(none.label(kLabelNumaPolicy, "None").read().problems, IsEmpty());
}

TEST(NumaNode, unknown_labels_are_told) {
  Reading r;
  r.label(kLabelCpuBindPolicy, "WholeCores").label(kLabelNumaStrategy, "Sideways");
  const NumaNode node = r.read();
  EXPECT_EQ(node.bind, CpuBindPolicy::None);
  EXPECT_EQ(node.strategy, NumaStrategy::LeastAllocated);
  EXPECT_THAT(node.problems, ElementsAre(HasSubstr("metadata.labels[node.koordinator.sh/cpu-bind-"
                                                   "policy]: unknown policy \"WholeCores\""),
                                         HasSubstr("unknown strategy \"Sideways\"")));
  Reading known;
  known.label(kLabelCpuBindPolicy, "None").label(kLabelNumaStrategy, "LeastAllocated");
  EXPECT_THAT(known.read().problems, IsEmpty());
}

TEST(NumaNode, amounts_that_contradict_each_other_are_told) {
  Reading r;
  api::List<api::ZoneResource>& first = r.topology->zones[0].resources;
  first[0].allocatable = quantity("80");
  first[0].capacity = quantity("80");
  first[1].capacity = quantity("1Gi");
  first[1].allocatable = quantity("2Gi");
  EXPECT_THAT(r.read().problems,
              ElementsAre("zones[0].resources[0].allocatable: 80 is more than the 8 CPUs of that "
                          "NUMA node",
                          "zones[0].resources[1].allocatable: 2Gi is more than the capacity 1Gi"));
  // Zones that are amplified in the report have more than the physical CPUs.
  first[1].capacity = first[1].allocatable;
  r.say(kAnnotationAmplification, R"({"cpu": 10})");
  EXPECT_THAT(r.read().problems, IsEmpty());
}

TEST(NumaNode, ratios_that_cannot_be_are_told) {
  Reading r;
  auto& annotations = r.node.object().metadata.annotations;
  annotations[std::string(kAnnotationAmplification)] = R"({"cpu":-1.5,"memory":2})";
  const NumaNode node = r.read();
  EXPECT_EQ(node.cpuRatio, 1);
  EXPECT_FALSE(node.badRatios);
  EXPECT_THAT(node.problems, ElementsAre(HasSubstr("cpu: -1.5 is negative")));
  annotations[std::string(kAnnotationAmplification)] = R"({"cpu":"much"})";
  EXPECT_TRUE(r.read().badRatios);
}

TEST(NumaNode, what_the_node_keeps_back_is_told_where_it_cannot_be) {
  Reading r;
  auto& annotations = r.node.object().metadata.annotations;
  const std::string key(model::kAnnotationNodeReservation);
  annotations[key] = R"({"resources":{"cpu":"-5"},"reservedCPUs":"a","applyPolicy":"Sometimes"})";
  EXPECT_THAT(r.read().problems, ElementsAre(HasSubstr("].resources[cpu]: -5 is negative"),
                                             HasSubstr("].reservedCPUs: "),
                                             HasSubstr("].applyPolicy: \"Sometimes\" is none of")));
  EXPECT_TRUE(model::reservedResources(annotations).empty());
  annotations[key] = R"({"resources":{"cpu":"-5","memory":"1Gi"}})";
  EXPECT_EQ(model::reservedResources(annotations).size(), 1U) << "less than nothing is nothing";
  annotations[key] = "{";
  EXPECT_THAT(r.read().problems, ElementsAre(HasSubstr("metadata.annotations[" + key + "]")));
}

TEST(NumaNode, what_cannot_be_read_names_its_field_and_the_rest_counts) {
  Reading r;
  r.say(kAnnotationCpuTopology, "{bad").say(kAnnotationKubeletCpus, R"({"reservedCPUs":"1-x"})");
  r.say(kAnnotationPodCpuAllocs, "null");
  r.topology->zones[0].resources[1].allocatable = quantity("-1Gi");
  const NumaNode node = r.read();
  EXPECT_FALSE(node.valid());
  EXPECT_THAT(node.problems, Contains(HasSubstr("metadata.annotations[node.koordinator.sh/"
                                                "cpu-topology]")));
  EXPECT_THAT(node.problems, Contains(HasSubstr("reservedCPUs")));
  EXPECT_THAT(node.problems, Contains(HasSubstr("zones[0].resources[1].allocatable: -1Gi")));
  EXPECT_EQ(node.zones.size(), 2U);
  EXPECT_EQ(node.zones[0].total.base[kMemory], 0);
}

TEST(NumaNode, zones_of_other_kinds_twice_or_far_away) {
  Reading r;
  r.topology->zones.push_back(r.topology->zones[0]);
  r.topology->zones.push_back(r.topology->zones[0]);
  r.topology->zones.back().name = "socket-0";
  NumaNode node = r.read();
  EXPECT_EQ(node.zones.size(), 2U);
  EXPECT_THAT(node.problems, Contains("zones[2].name: duplicate node-0"));
  r.topology->zones.back().name = "node-64";
  node = r.read();
  EXPECT_THAT(node.zones, IsEmpty());
  EXPECT_THAT(node.problems, Contains(HasSubstr("node-64")));
}

TEST(NumaNode, ids_of_zones_may_have_gaps) {
  Reading r;
  r.topology->zones[1].name = "node-5";
  const NumaNode node = r.read();
  EXPECT_EQ(node.allZones, NumaMask{1} | NumaMask{1} << 5);
  EXPECT_EQ(node.zoneAt[5], 1);
}

TEST(NumaNode, zones_are_amplified_like_the_node) {
  Reading r;
  auto& annotations = r.node.object().metadata.annotations;
  annotations[std::string(kAnnotationAmplification)] = R"({"cpu":1.5,"memory":0.5})";
  NumaNode node = r.read();
  EXPECT_EQ(node.cpuRatio, 1.5);
  EXPECT_EQ(node.zones[0].total.base[kCpu], 12000);
  EXPECT_EQ(node.zones[0].total.base[kMemory], std::int64_t{16} << 30);
  r.say(kAnnotationAmplification, R"({"cpu":1.5})");
  EXPECT_EQ(r.read().zones[0].total.base[kCpu], 8000);
  for (const char* wrong : {R"({"cpu":"x"})", "[", R"({"cpu":null})", "7"}) {
    annotations[std::string(kAnnotationAmplification)] = wrong;
    node = r.read();
    EXPECT_TRUE(node.badRatios) << wrong;
    EXPECT_EQ(node.cpuRatio, 1) << wrong;
  }
}

TEST(NumaNode, equal_machines_share_one_topology) {
  Reading r;
  const NumaNode one = r.read();
  const NumaNode two = r.read();
  EXPECT_EQ(one.topology, two.topology);
  r.say(kAnnotationCpuTopology, testing::cpuTopologyText({1, 1, 1, 2}));
  EXPECT_NE(r.read().topology, one.topology);
}

TEST(NumaNode, what_nobody_reads_of_a_report_is_dropped) {
  Reading r;
  r.say("node.koordinator.sh/cpu-basic-info", "{}");
  r.say(kAnnotationKubeletCpus, R"({"policy":"none"})");
  EXPECT_EQ(r.topology->metadata.annotations.size(), 3U);
  EXPECT_EQ(r.report().metadata.annotations.size(), 1U);
  EXPECT_TRUE(r.read().valid());
}

TEST(NumaNode, amounts_are_rounded_up_when_amplified) {
  EXPECT_EQ(amplify(1000, 1), 1000);
  EXPECT_EQ(amplify(1000, 0.5), 1000);
  EXPECT_EQ(amplify(1001, 1.5), 1502);
  EXPECT_EQ(amplify(kMaxAmount, 2), kMaxAmount);
}

}  // namespace
}  // namespace koord::scheduler
