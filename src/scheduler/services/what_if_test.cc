#include "scheduler/services/what_if.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/core/scheduler_fixture.h"

namespace koord::scheduler {
namespace {

using testing::aNode;
using testing::aPod;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using State = WhatIfPlace::State;

struct WhatIf : testing::SchedulerFixture {
  WhatIf() { scheduler->start(); }
  // A pod that runs there.
  std::shared_ptr<const api::Pod> runs(testing::PodBuilder pod, const std::string& node) {
    auto bound = pod.nodeName(node).build();
    scheduler->podAdded(bound);
    return bound;
  }
  WhatIfAnswer ask(const std::vector<WhatIfMove>& moves) {
    WhatIfAnswer answer = whatIf(*scheduler, moves);
    EXPECT_EQ(drift(), "") << "something of the question is left";
    return answer;
  }
  std::string drift() {
    std::string text;
    const Cluster& cluster = scheduler->cluster();
    for (NodeId node = 0; node < cluster.capacity(); ++node) text += cluster.verifyNode(node);
    return text;
  }
  std::int64_t cpuOn(const std::string& node) {
    const Cluster& cluster = scheduler->cluster();
    return Cluster::columnAt(cluster.requested(kCpu), *cluster.findNode(node));
  }
};

WhatIfMove leaving(std::shared_ptr<const api::Pod> pod, std::string group = "") {
  const std::string node = pod->spec.nodeName;
  return {.pod = std::move(pod), .from = node, .avoid = {node}, .group = std::move(group)};
}

std::vector<std::string> nodesOf(const WhatIfAnswer& answer) {
  std::vector<std::string> nodes;
  for (const auto& place : answer.places)
    nodes.push_back(place.state == State::Placed ? place.node : std::string(nameOf(place.state)));
  return nodes;
}

TEST(WhatIf, says_where_a_pod_would_land_and_leaves_it_where_it_is) {
  WhatIf w;
  w.node(aNode("a"));
  w.node(aNode("b"));
  const auto pod = w.runs(aPod("p").request("cpu", "3"), "a");
  const WhatIfAnswer answer = w.ask({leaving(pod)});
  EXPECT_THAT(nodesOf(answer), ElementsAre("b"));
  EXPECT_EQ(w.cpuOn("a"), 3000);
  EXPECT_EQ(w.cpuOn("b"), 0);
  ASSERT_EQ(answer.nodes.size(), 2u);
  EXPECT_EQ(answer.nodes[0].name, "a");
  EXPECT_EQ(answer.nodes[0].podsBefore, 1);
  EXPECT_EQ(answer.nodes[0].podsAfter, 0);
  EXPECT_EQ(answer.nodes[1].podsAfter, 1);
}

TEST(WhatIf, those_that_come_later_find_the_rest_only_and_what_others_left) {
  WhatIf w;
  w.node(aNode("a"));
  w.node(aNode("b"));
  const auto first = w.runs(aPod("first").request("cpu", "3"), "a");
  const auto second = w.runs(aPod("second").request("cpu", "1"), "a");
  const auto other = w.runs(aPod("other").request("cpu", "1"), "b");
  const auto large = w.runs(aPod("large").request("cpu", "0"), "b");
  // After the first has moved, b is full and a has room for three.
  EXPECT_THAT(nodesOf(w.ask({leaving(first), leaving(second), leaving(other)})),
              ElementsAre("b", "unschedulable", "a"));
}

TEST(WhatIf, a_pod_that_stays_until_its_place_is_held_keeps_its_room) {
  WhatIf w;
  w.node(aNode("a"));
  const auto pod = w.runs(aPod("p").request("cpu", "3"), "a");
  EXPECT_THAT(nodesOf(w.ask({{.pod = pod, .from = "a"}})), ElementsAre("a"));
  EXPECT_THAT(nodesOf(w.ask({{.pod = pod, .from = "a", .stays = true}})),
              ElementsAre("unschedulable"));
}

TEST(WhatIf, tells_the_reasons_with_how_many_nodes_they_have) {
  WhatIf w;
  w.node(aNode("a"));
  w.node(aNode("tainted").taint("gpu"));
  w.node(aNode("small").allocatable("cpu", "1"));
  const auto pod = w.runs(aPod("p").request("cpu", "3"), "a");
  const WhatIfAnswer answer = w.ask({leaving(pod)});
  ASSERT_THAT(nodesOf(answer), ElementsAre("unschedulable"));
  EXPECT_EQ(
      answer.places[0].message,
      "0/3 nodes are available: 1 Insufficient cpu, 1 node(s) are left or avoided by the pod, "
      "1 node(s) had untolerated taint(s).");
}

TEST(WhatIf, groups_move_whole_or_not_at_all) {
  WhatIf w;
  w.node(aNode("a"));
  w.node(aNode("b"));
  const auto one = w.runs(aPod("one").request("cpu", "2"), "a");
  const auto two = w.runs(aPod("two").request("cpu", "2"), "a");
  EXPECT_THAT(nodesOf(w.ask({leaving(one, "g"), leaving(two, "g")})), ElementsAre("b", "b"));
  w.runs(aPod("other").request("cpu", "1"), "b");
  const auto answer = w.ask({leaving(one, "g"), leaving(two, "g"), leaving(one)});
  // Resources are free as if the group had never been tried.
  EXPECT_THAT(nodesOf(answer), ElementsAre("groupRefused", "unschedulable", "b"));
  EXPECT_THAT(answer.places[0].message, HasSubstr("pod default/two of its group has no place"));
}

TEST(WhatIf, who_is_elsewhere_or_nobodys_is_told) {
  WhatIf w;
  w.node(aNode("a"));
  w.node(aNode("b"));
  const auto pod = w.runs(aPod("p"), "a");
  const auto gone = aPod("gone").build();
  const auto others = w.runs(aPod("theirs").scheduler("somebody"), "a");
  const auto answer = w.ask(
      {{.pod = pod, .from = "b"}, {.pod = gone, .from = "a"}, {.pod = others}, {.pod = gone}});
  EXPECT_EQ(answer.places[0].message, "the pod is on node a, not on b");
  EXPECT_EQ(answer.places[1].message, "the pod is on no node, not on a");
  EXPECT_EQ(answer.places[2].message, "this scheduler has no profile somebody");
  EXPECT_EQ(answer.places[3].state, State::Placed);
}

TEST(WhatIf, rules_of_other_pods_hold_for_the_one_that_moves) {
  WhatIf w;
  for (const char* zone : {"x", "y"})
    for (const char* node : {"1", "2"}) w.node(aNode(std::string(zone) + node).label("zone", zone));
  const auto pod =
      w.runs(aPod("p").label("app", "web").apart("zone", "app", "web").request("cpu", "1"), "x1");
  w.runs(aPod("q").label("app", "web").request("cpu", "1"), "y1");
  // It may be placed where it is alone, which is its own zone, but only after it has left.
  EXPECT_THAT(nodesOf(w.ask({leaving(pod)})), ElementsAre("x2"));
  EXPECT_THAT(nodesOf(w.ask({{.pod = pod, .from = "x1", .stays = true, .avoid = {"x1"}}})),
              ElementsAre("unschedulable"));
}

TEST(WhatIf, a_question_that_takes_too_long_is_answered_in_part) {
  WhatIf w;
  w.node(aNode("a"));
  const auto pod = w.runs(aPod("p"), "a");
  const WhatIfAnswer answer = whatIf(*w.scheduler, {leaving(pod)}, Duration(-1));
  EXPECT_THAT(nodesOf(answer), ElementsAre("notAsked"));
}

// Rejects no node, and is slow.
class Slow final : public Plugin, public FilterPlugin {
 public:
  explicit Slow(VirtualLoop& loop) : loop_(loop) {}
  std::string_view name() const override { return "Slow"; }
  Status filter(const CycleState&, const PodInfo&, NodeFilter&) override {
    loop_.advance(std::chrono::milliseconds(30));
    return {};
  }

 private:
  VirtualLoop& loop_;
};

TEST(WhatIf, time_runs_out_within_a_group_too_which_then_has_not_moved) {
  WhatIf w;
  w.registry["Slow"] = [&](Fields&, Handle&) { return std::make_unique<Slow>(w.loop); };
  w.configuration_.profiles.front().plugins["multiPoint"].enabled.push_back({"Slow", 0});
  w.create();
  w.scheduler->start();
  w.node(aNode("a"));
  w.node(aNode("b"));
  std::vector<WhatIfMove> moves;
  for (int i = 0; i < 20; ++i)
    moves.push_back({.pod = aPod("p" + std::to_string(i)).build(), .group = "g"});
  const SteadyTime since = w.loop.steadyNow();
  const WhatIfAnswer answer = w.ask(moves);
  EXPECT_LT(w.loop.steadyNow() - since, 2 * kWhatIfTime);
  EXPECT_THAT(nodesOf(answer), ::testing::Each("notAsked"));
  EXPECT_THAT(answer.places[0].message, HasSubstr("time limit of the request was reached"));
}

TEST(WhatIf, scheduling_goes_on_as_if_nobody_had_asked) {
  WhatIf w;
  w.node(aNode("a"));
  w.node(aNode("b"));
  const auto pod = w.runs(aPod("p").request("cpu", "4"), "a");
  (void)w.ask({leaving(pod)});
  w.create(aPod("new").request("cpu", "4"));
  w.run();
  EXPECT_EQ(w.nodeOf("new"), "b");
  EXPECT_EQ(w.drift(), "");
}

TEST(WhatIf, questions_that_cannot_be_read_name_the_field) {
  WhatIf w;
  const auto wrong = [&](std::string_view body) {
    const auto read = readWhatIf(*w.scheduler, body);
    return read ? std::string("read") : read.error().message;
  };
  EXPECT_THAT(wrong("{"), HasSubstr("line 1"));
  EXPECT_THAT(wrong("{}"), HasSubstr("expected {\"pods\""));
  EXPECT_EQ(wrong(R"({"pods": [5]})"), "pods[0]: must be an object");
  EXPECT_EQ(wrong(R"({"pods": [{}]})"), "pods[0].pod: is missing");
  EXPECT_EQ(wrong(R"({"pods": [{"pod": {}}]})"), "pods[0].pod.metadata: name and uid are required");
  EXPECT_EQ(wrong(R"({"pods": [{"form": "a"}]})"), "pods[0].form: unknown field");
  EXPECT_EQ(wrong(R"({"pods": [{"stays": 1}]})"), "pods[0].stays: must be true or false");
  EXPECT_EQ(wrong(R"({"pods": [{"avoid": "a"}]})"), "pods[0].avoid: must be a list of node names");
  EXPECT_THAT(wrong(R"({"pods": [{"pod": {"metadata": {"labels": 3}}}]})"),
              HasSubstr("pods[0].pod: metadata.labels"));
}

TEST(WhatIf, answers_as_a_document) {
  WhatIf w;
  w.node(aNode("a"));
  w.node(aNode("b"));
  w.runs(aPod("p").request("cpu", "1"), "a");
  const auto moves = readWhatIf(*w.scheduler, R"({"pods": [{"from": "a", "avoid": ["a"], "pod": {
    "metadata": {"name": "p", "uid": "uid-default-p"},
    "spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": "1"}}}]}}}]})");
  ASSERT_TRUE(moves) << moves.error().message;
  const json::value document = whatIfJson(*moves, w.ask(*moves));
  EXPECT_EQ(toJson(*at(document, "pods")),
            R"([{"namespace":"default","name":"p","uid":"uid-default-p","state":"placed",)"
            R"("node":"b","feasibleNodes":1}])");
  EXPECT_EQ(textAt(at(document, "nodes")->get_array()[1], "requestedAfter", "cpu"), "1");
  EXPECT_EQ(textAt(at(document, "nodes")->get_array()[1], "allocatable", "cpu"), "4");
}

}  // namespace
}  // namespace koord::scheduler
