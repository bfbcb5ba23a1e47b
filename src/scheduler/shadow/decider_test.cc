#include "scheduler/shadow/decider.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/core/scheduler_fixture.h"
#include "scheduler/preemption/evictions.h"

namespace koord::scheduler {
namespace {

using testing::aNode;
using testing::aPod;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Kind = Choice::Kind;

struct Deciding : testing::SchedulerFixture {
  Decider decider{*scheduler, "default-scheduler"};

  NodeId id(const char* name) { return *scheduler->cluster().findNode(name); }
  PodPtr waiting(const testing::PodBuilder& pod) {
    scheduler->podAdded(pod.build());
    return scheduler->pending(api::keyOf(pod.build()->metadata));
  }
  void runs(testing::PodBuilder pod, const std::string& on) {
    scheduler->podAdded(pod.nodeName(on).build());
  }
};

TEST(Decider, takes_the_favored_one_of_equal_nodes) {
  Deciding d;
  for (const char* name : {"a", "b", "c", "d"}) d.node(aNode(name));
  const PodPtr pod = d.waiting(aPod("p").request("cpu", "1"));
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(d.decider.decide(pod, d.id("c")).node, "c");
    EXPECT_EQ(d.decider.decide(pod, d.id("a")).node, "a");
  }
}

TEST(Decider, does_not_take_a_favored_node_with_a_lower_score_or_without_room) {
  Deciding d;
  for (const char* name : {"a", "b", "c"}) d.node(aNode(name));
  d.runs(aPod("some").request("cpu", "1"), "b");
  d.runs(aPod("much").request("cpu", "4"), "c");
  const PodPtr pod = d.waiting(aPod("p").request("cpu", "1"));
  EXPECT_EQ(d.decider.decide(pod, d.id("b")).node, "a");
  EXPECT_EQ(d.decider.decide(pod, d.id("c")).node, "a");
}

// Pods that spread are scored by a plugin that is not Signed, and nominations end the fast path.
TEST(Decider, takes_the_favored_node_on_the_slower_paths_too) {
  Deciding d;
  for (const char* name : {"a", "b", "c"})
    d.node(aNode(name).label("kubernetes.io/hostname", name));
  const PodPtr spread =
      d.waiting(aPod("s")
                    .label("app", "x")
                    .spread(1, "kubernetes.io/hostname", "app", "x", "ScheduleAnyway"));
  const PodPtr near =
      d.waiting(aPod("n").label("app", "y").apart("kubernetes.io/hostname", "app", "z", 10));
  (void)d.waiting(aPod("promised").nominated("a").priority(100).request("cpu", "100m"));
  for (const PodPtr& pod : {spread, near})
    for (int i = 0; i < 10; ++i) {
      EXPECT_EQ(d.decider.decide(pod, d.id("b")).node, "b");
      EXPECT_EQ(d.decider.decide(pod, d.id("c")).node, "c");
    }
}

TEST(Decider, rehearses_preemption_and_leaves_everything_as_it_is) {
  Deciding d;
  d.node(aNode("a"));
  d.runs(aPod("low").request("cpu", "3"), "a");
  const PodPtr pod = d.waiting(aPod("high").request("cpu", "3").priority(10));
  const Choice choice = d.decider.decide(pod);
  EXPECT_EQ(choice.kind, Kind::Preempt);
  EXPECT_EQ(choice.node, "a");
  EXPECT_THAT(choice.victims, ElementsAre("default/low"));
  d.run();
  EXPECT_THAT(d.deletions, IsEmpty());
  EXPECT_THAT(d.api.calls, IsEmpty());
  EXPECT_THAT(d.events, IsEmpty());
  EXPECT_TRUE(d.scheduler->cluster().findPod("uid-default-low"));
  ProfileRuntime& runtime = *d.scheduler->profiles().begin()->second;
  EXPECT_TRUE(runtime.nominator().empty());
  EXPECT_FALSE(evictionsOf(runtime).mustWait(pod->uid()));
  EXPECT_FALSE(evictionsOf(runtime).rehearsing());
  const Cluster& cluster = d.scheduler->cluster();
  cluster.live().forEach([&](NodeId node) { EXPECT_EQ(cluster.verifyNode(node), ""); });
}

TEST(Decider, prefers_the_favored_one_of_equal_preemptions) {
  Deciding d;
  for (const char* name : {"a", "b", "c"}) {
    d.node(aNode(name));
    d.runs(aPod(std::string("low-") + name).request("cpu", "3"), name);
  }
  const PodPtr pod = d.waiting(aPod("high").request("cpu", "4").priority(10));
  for (const char* name : {"b", "c", "a"}) EXPECT_EQ(d.decider.decide(pod, d.id(name)).node, name);
  d.runs(aPod("dear").priority(5).request("cpu", "1"), "b");
  EXPECT_NE(d.decider.decide(pod, d.id("b")).node, "b") << "its victims have a higher priority";
}

TEST(Decider, says_why_a_pod_waits) {
  Deciding d;
  d.node(aNode("a"));
  const Choice choice = d.decider.decide(d.waiting(aPod("p").request("cpu", "9")));
  EXPECT_EQ(choice.kind, Kind::Wait);
  EXPECT_THAT(choice.message, HasSubstr("0/1 nodes are available: 1 Insufficient cpu."));
  EXPECT_THAT(choice.message, HasSubstr("preemption: "));
}

TEST(Decider, judges_a_node_by_filters_and_scores) {
  Deciding d;
  d.node(aNode("a"));
  d.node(aNode("b"));
  d.node(aNode("c").taint("dedicated"));
  d.runs(aPod("some").request("cpu", "2"), "b");
  const PodPtr pod = d.waiting(aPod("p").request("cpu", "1"));
  const NodeJudgement worse = d.decider.judge(pod, d.id("b"), d.id("a"));
  EXPECT_TRUE(worse.feasible);
  EXPECT_EQ(worse.feasibleNodes, 2u);
  EXPECT_LT(worse.incumbentTotal, worse.shadowTotal);
  EXPECT_FALSE(worse.scores.empty());
  const NodeJudgement tainted = d.decider.judge(pod, d.id("c"), d.id("a"));
  EXPECT_FALSE(tainted.feasible);
  EXPECT_THAT(tainted.reason, HasSubstr("TaintToleration: node(s) had untolerated taint"));
  EXPECT_EQ(d.decider.judge(pod, kNoNode, d.id("a")).reason, "the node does not exist here");
}

}  // namespace
}  // namespace koord::scheduler
