// Gangs that are placed by network topology, in a whole scheduler.

#include <sstream>

#include "api/codec.h"
#include "base/log.h"
#include "scheduler/plugins/coscheduling/gang_fixture.h"
#include "scheduler/plugins/coscheduling/network_controller.h"

namespace koord::scheduler {
namespace {

using ::testing::AllOf;
using testing::aNode;
using testing::aPod;
using ::testing::ElementsAre;
using testing::GangFixture;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using namespace std::chrono_literals;

constexpr std::string_view kSpec = "gang.scheduling.koordinator.sh/network-topology-spec";
constexpr const char* kOneSpine =
    R"({"gatherStrategy":[{"layer":"SpineLayer","strategy":"MustGather"}]})";

struct NetworkFixture : GangFixture {
  explicit NetworkFixture(json::value args = json::object{{"awareNetworkTopology", true}})
      : GangFixture(std::move(args)) {}

  void topology(const std::string& layers =
                    R"([{"topologyLayer": "SpineLayer", "labelKey": ["spine"]},
                        {"topologyLayer": "BlockLayer", "labelKey": ["block"],
                         "parentTopologyLayer": "SpineLayer"},
                        {"topologyLayer": "NodeTopologyLayer",
                         "parentTopologyLayer": "BlockLayer"}])") {
    auto object = api::decodeText<api::ClusterNetworkTopology>(
        R"({"metadata": {"name": "default"}, "spec": {"networkTopologySpec": )" + layers + "}}");
    ASSERT_TRUE(object) << object.error().message;
    scheduler->stores().of<api::ClusterNetworkTopology>().set(
        std::make_shared<api::ClusterNetworkTopology>(*std::move(object)));
  }
  void place(const std::string& name, const std::string& spine, const std::string& block,
             const char* cpu) {
    node(aNode(name).label("spine", spine).label("block", block).allocatable("cpu", cpu));
  }
  void spines() {
    topology();
    place("n1", "s1", "b1", "2");
    place("n2", "s1", "b1", "2");
    place("n3", "s2", "b2", "3");
    place("n4", "s2", "b2", "3");
  }
  void gathered(const std::string& name, int minimum, const std::string& spec = kOneSpine) {
    gang(name, minimum, {{std::string(kSpec), spec}});
  }
  std::string placesOf(const std::string& gang, int count) {
    std::string text;
    for (int i = 0; i < count; ++i) text += nodeOf(gang + "-" + std::to_string(i)) + " ";
    return text;
  }
};

TEST(Network, a_gang_goes_to_the_spine_that_fits_it_most_tightly) {
  NetworkFixture f;
  f.spines();
  f.gathered("g", 4);
  f.members("g", 0, 4);
  f.run();
  EXPECT_EQ(f.placesOf("g", 4), "n1 n1 n2 n2 ");
  f.expectSound();
}

TEST(Network, a_gang_that_one_node_takes_goes_to_one_node) {
  NetworkFixture f;
  f.spines();
  f.gathered("g", 3);
  f.members("g", 0, 3);
  f.run();
  EXPECT_EQ(f.placesOf("g", 3), "n3 n3 n3 ");
}

TEST(Network, neighbours_in_rank_are_neighbours_in_the_network) {
  NetworkFixture f;
  f.spines();
  f.gathered("g", 4);
  for (int i = 0; i < 4; ++i) {
    auto pod = f.member("g-" + std::to_string(i), "g");
    pod.object().metadata.annotations["gang.scheduling.koordinator.sh/network-topology-index"] =
        std::to_string(3 - i);
    f.create(pod);
  }
  f.run();
  EXPECT_EQ(f.placesOf("g", 4), "n2 n2 n1 n1 ");
}

TEST(Network, a_gang_that_no_spine_takes_waits_and_is_told_what_they_offer) {
  NetworkFixture f;
  f.spines();
  f.gathered("g", 7);
  f.members("g", 0, 7);
  f.run();
  EXPECT_THAT(f.placed(), IsEmpty());
  EXPECT_THAT(
      f.lastCondition("g-0"),
      AllOf(HasSubstr("0/4 nodes are available: no candidate topology nodes can accommodate "
                      "job, desiredOfferSlot: 7, topology topologyNode SpineLayer/s1: "
                      "4;topology topologyNode SpineLayer/s2: 6, 0/4 nodes are available: 4 "
                      "Insufficient cpu.")));
  EXPECT_THAT(f.lastCondition("g-6"), HasSubstr("gets rejected due to member Pod \"default/g-0\""));
  f.place("n5", "s2", "b3", "1");
  f.run(20s);
  EXPECT_THAT(f.placed(), SizeIs(7));
  f.expectSound();
}

TEST(Network, a_node_that_moves_to_another_spine_wakes_the_gang) {
  NetworkFixture f;
  f.spines();
  f.gathered("g", 7);
  f.members("g", 0, 7);
  f.run();
  auto after = aNode("n2").label("spine", "s2").label("block", "b2").allocatable("cpu", "2");
  f.scheduler->nodeUpdated(
      aNode("n2").label("spine", "s1").label("block", "b1").allocatable("cpu", "2").build(),
      after.build());
  f.run(20s);
  EXPECT_THAT(f.placed(), SizeIs(7));
}

TEST(Network, without_a_topology_the_gang_waits_for_one) {
  NetworkFixture f;
  f.place("n1", "s1", "b1", "4");
  f.gathered("g", 2);
  f.members("g", 0, 2);
  f.run();
  EXPECT_THAT(f.lastCondition("g-0"), HasSubstr("no cluster network topology"));
  f.topology();
  f.run(20s);
  EXPECT_THAT(f.placed(), SizeIs(2));
}

TEST(Network, a_topology_that_makes_no_sense_is_told_and_nobody_is_placed_by_it) {
  NetworkFixture f;
  f.topology(R"([{"topologyLayer": "SpineLayer", "labelKey": ["spine"]}])");
  f.place("n1", "s1", "b1", "4");
  f.gathered("g", 2);
  f.members("g", 0, 2);
  f.create(aPod("alone").request("cpu", "1"));
  f.run(20s);
  EXPECT_THAT(f.placed(), ElementsAre("alone"));
  EXPECT_THAT(f.lastCondition("g-0"), HasSubstr("Required value: NodeTopologyLayer"));
  EXPECT_THAT(f.events, ::testing::Contains(HasSubstr("InvalidTopology")));
}

TEST(Network, a_layer_that_is_not_there_is_named) {
  NetworkFixture f;
  f.spines();
  f.gathered("g", 2, R"({"gatherStrategy":[{"layer":"Moon","strategy":"MustGather"}]})");
  f.members("g", 0, 2);
  f.run();
  EXPECT_THAT(f.placed(), IsEmpty());
  EXPECT_THAT(f.lastCondition("g-0"), HasSubstr("gatherStrategy[0].layer: Not found: \"Moon\""));
}

TEST(Network, rules_that_cannot_be_read_are_told_and_the_gang_is_placed_anywhere) {
  NetworkFixture f;
  f.spines();
  f.gathered("g", 2, "[]");
  f.members("g", 0, 2);
  f.run(20s);
  EXPECT_THAT(f.placed(), SizeIs(2));
  EXPECT_THAT(f.events, ::testing::Contains(HasSubstr("network-topology-spec")));
}

TEST(Network, members_beyond_the_minimum_are_left_out_where_the_spine_is_full) {
  NetworkFixture f;
  f.spines();
  f.place("n9", "s9", "b9", "1");
  f.gathered("g", 6);
  f.members("g", 0, 7);
  f.run();
  EXPECT_EQ(f.placesOf("g", 6), "n3 n3 n3 n4 n4 n4 ");
}

TEST(Network, members_that_come_later_go_to_the_spine_of_the_others) {
  NetworkFixture f;
  f.spines();
  f.gang("g", 2,
         {{std::string(kSpec), kOneSpine},
          {"gang.scheduling.koordinator.sh/match-policy", "waiting-and-running"}});
  f.members("g", 0, 2);
  f.run();
  EXPECT_EQ(f.placesOf("g", 2), "n1 n1 ");
  f.create(f.member("g-2", "g"));
  f.create(f.member("g-3", "g"));
  f.create(f.member("g-4", "g"));
  f.run(20s);
  EXPECT_EQ(f.nodeOf("g-2"), "n2");
  EXPECT_EQ(f.nodeOf("g-3"), "n2");
  EXPECT_EQ(f.nodeOf("g-4"), "");
}

// Each node by itself takes both; together they must not share a block.
TEST(Network, where_plans_break_a_rule_across_nodes_members_are_placed_one_by_one_in_one_spine) {
  NetworkFixture f;
  f.topology();
  f.place("n1", "s1", "b1", "1");
  f.place("n2", "s1", "b1", "1");
  f.place("n3", "s2", "b2", "1");
  f.place("n4", "s2", "b3", "1");
  f.place("n5", "s2", "b3", "1");
  f.gathered("g", 2);
  for (const char* name : {"g-0", "g-1"})
    f.create(f.member(name, "g").label("app", "x").apart("block", "app", "x"));
  f.run();
  EXPECT_THAT(f.placed(), SizeIs(2));
  EXPECT_NE(f.nodeOf("g-0"), f.nodeOf("g-1"));
  f.expectSound();
}

TEST(Network, what_does_not_come_out_even_waits_and_says_why) {
  NetworkFixture f(json::object{{"awareNetworkTopology", true}, {"enablePreemption", true}});
  f.spines();
  f.gathered("g", 1,
             R"({"gatherStrategy":[{"layer":"BlockLayer","strategy":"MustGather",)"
             R"("podCountMultiple":2}]})");
  f.members("g", 0, 1);
  f.run(20s);
  EXPECT_THAT(f.placed(), IsEmpty());
  EXPECT_THAT(f.lastCondition("g-0"), HasSubstr("podCountMultiple constraints: BlockLayer=2"));
  f.create(f.member("g-1", "g"));
  f.run(20s);
  EXPECT_EQ(f.placesOf("g", 2), "n1 n1 ");
}

TEST(Network, a_gang_may_make_others_leave_one_spine_for_it) {
  NetworkFixture f(json::object{{"awareNetworkTopology", true}, {"enablePreemption", true}});
  f.spines();
  f.create(aPod("a").request("cpu", "1").nodeName("n1"));
  f.create(aPod("b").request("cpu", "3").nodeName("n3"));
  f.run();
  f.gathered("g", 4);
  for (int i = 0; i < 4; ++i) f.create(f.member("g-" + std::to_string(i), "g").priority(10));
  f.run(60s);
  EXPECT_THAT(f.deletions, ElementsAre("a"));
  EXPECT_EQ(f.placesOf("g", 4), "n1 n1 n2 n2 ");
  f.expectSound();
}

TEST(Network, without_the_argument_the_rules_mean_nothing_and_explain_says_so) {
  NetworkFixture f{json::object()};
  f.spines();
  f.gathered("g", 10);
  f.members("g", 0, 10);
  f.run();
  EXPECT_THAT(f.placed(), SizeIs(10));
}

TEST(Network, pods_with_a_selector_go_near_those_with_the_same) {
  NetworkFixture f;
  f.topology();
  f.place("n1", "s1", "b1", "8");
  f.place("n2", "s2", "b2", "8");
  f.place("n3", "s2", "b3", "2");
  const auto marked = [&](const std::string& name) {
    auto pod = aPod(name).request("cpu", "2");
    pod.object().metadata.annotations[std::string(kAnnotationNetworkTopologySelector)] = "app=x";
    return pod;
  };
  auto there = marked("there").nodeName("n3");
  f.create(there);
  f.run();
  f.create(marked("new"));
  f.run();
  EXPECT_EQ(f.nodeOf("new"), "n2");
}

TEST(Network, a_diagnosis_names_the_gang_the_layer_and_what_nodes_would_take) {
  NetworkFixture f;
  f.spines();
  f.scheduler->debug().diagnosis = true;
  f.scheduler->debug().diagnosisAtOnce = true;
  log::setup({.program = "test"});
  ::testing::internal::CaptureStderr();
  f.gathered("g", 7);
  f.members("g", 0, 7);
  f.run(1s);
  std::istringstream all(::testing::internal::GetCapturedStderr());
  std::vector<std::string> lines;
  for (std::string line; std::getline(all, line);)
    if (line.find("dump diagnosis") != std::string::npos) lines.push_back(line);
  ASSERT_EQ(lines.size(), 7u);
  EXPECT_THAT(lines[0], AllOf(HasSubstr(R"("questionedKey":"default/g")"),
                              HasSubstr(R"("topologyKeyToExplain":"SpineLayer")"),
                              HasSubstr(R"("isRootCausePod":true)"),
                              HasSubstr(R"("nodeOfferSlot":{"n1":2,"n2":2,"n3":3,"n4":3})")));
  EXPECT_THAT(lines[6], AllOf(HasSubstr(R"("questionedKey":"default/g")"),
                              HasSubstr(R"("isRootCausePod":false)"),
                              HasSubstr("gets rejected due to member Pod")));
}

TEST(Network, status_names_the_places_from_the_cluster_down) {
  NetworkFixture f;
  f.spines();
  f.run();
  const auto tree = networkTopologyOf(*f.scheduler->profiles().begin()->second).tree();
  ASSERT_TRUE(tree);
  EXPECT_EQ(
      toJson(networkStatus(*tree)),
      R"({"detailStatus":[{"topologyInfo":{"topologyLayer":"ClusterTopologyLayer","topologyName":""},)"
      R"("childTopologyLayer":"SpineLayer","childTopologyNames":["s1","s2"],"nodeNum":4},)"
      R"({"topologyInfo":{"topologyLayer":"SpineLayer","topologyName":"s1"},)"
      R"("parentTopologyInfo":{"topologyLayer":"ClusterTopologyLayer","topologyName":""},)"
      R"("childTopologyLayer":"BlockLayer","childTopologyNames":["b1"],"nodeNum":2},)"
      R"({"topologyInfo":{"topologyLayer":"BlockLayer","topologyName":"b1"},)"
      R"("parentTopologyInfo":{"topologyLayer":"SpineLayer","topologyName":"s1"},)"
      R"("childTopologyLayer":"NodeTopologyLayer","nodeNum":2},)"
      R"({"topologyInfo":{"topologyLayer":"SpineLayer","topologyName":"s2"},)"
      R"("parentTopologyInfo":{"topologyLayer":"ClusterTopologyLayer","topologyName":""},)"
      R"("childTopologyLayer":"BlockLayer","childTopologyNames":["b2"],"nodeNum":2},)"
      R"({"topologyInfo":{"topologyLayer":"BlockLayer","topologyName":"b2"},)"
      R"("parentTopologyInfo":{"topologyLayer":"SpineLayer","topologyName":"s2"},)"
      R"("childTopologyLayer":"NodeTopologyLayer","nodeNum":2}]})");
}

}  // namespace
}  // namespace koord::scheduler
