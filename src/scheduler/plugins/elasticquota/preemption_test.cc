// Preemption within a quota, and for a pod whose quota and nodes are full.

#include "scheduler/plugins/elasticquota/quota_fixture.h"

namespace koord::scheduler {
namespace {

using testing::aNode;
using testing::aPod;
using testing::aQuota;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::PodBuilder;
using testing::QuotaFixture;
using namespace std::chrono_literals;

TEST(ElasticQuota, a_pod_takes_the_place_of_lower_ones_of_its_own_quota_alone) {
  QuotaFixture f;
  f.node(aNode("n1").allocatable("cpu", "12"));
  f.set(aQuota("q").max("cpu", "10"));
  f.set(aQuota("other").max("cpu", "10"));
  f.run(100ms);
  f.create(f.of("v1", "q", "4").priority(1));
  f.create(f.of("v2", "q", "6").priority(2));
  f.create(f.of("lowest", "other", "1").priority(0));
  f.run(1s);
  f.create(f.of("high", "q", "4").priority(9));
  f.run(15s);
  EXPECT_THAT(f.deletions, ElementsAre("v1"));
  EXPECT_EQ(f.nodeOf("high"), "n1");
  f.expectSound();
}

TEST(ElasticQuota, preemption_spares_pods_that_are_not_preemptible_and_the_default_quota) {
  QuotaFixture f("{defaultQuotaGroupMax: {cpu: '2'}}");
  f.node(aNode("n1").allocatable("cpu", "12"));
  f.set(aQuota("q").max("cpu", "2").min("cpu", "2"));
  f.run(100ms);
  f.create(
      f.of("fixed", "q", "2").priority(1).label(std::string(model::kLabelPreemptible), "false"));
  f.create(aPod("default").request("cpu", "2").priority(1));
  f.run(1s);
  f.create(f.of("high", "q", "1").priority(9));
  f.create(aPod("default-high").request("cpu", "1").priority(9));
  f.run(15s);
  EXPECT_THAT(f.deletions, ElementsAre());
  EXPECT_THAT(f.lastCondition("high"),
              HasSubstr("preemption: 0/1 nodes are available: 1 No victims found on node n1 for "
                        "preemptor pod high."));
}

// The label is about the quota only: it does not protect the pod from the preemption of other pods
// of the node.
TEST(ElasticQuota, a_pod_that_is_not_preemptible_in_its_quota_leaves_for_others_all_the_same) {
  QuotaFixture f;
  f.node(aNode("n1").allocatable("cpu", "4"));
  f.set(aQuota("q").max("cpu", "4").min("cpu", "4"));
  f.run(100ms);
  f.create(
      f.of("fixed", "q", "4").priority(1).label(std::string(model::kLabelPreemptible), "false"));
  f.run(1s);
  f.create(aPod("critical").request("cpu", "1").priority(2000001000));
  f.run(15s);
  EXPECT_THAT(f.deletions, ElementsAre("fixed"));
  EXPECT_EQ(f.nodeOf("critical"), "n1");
  f.expectSound();
}

TEST(ElasticQuota, a_pod_that_waits_for_victims_of_other_quotas_takes_none_of_its_own) {
  QuotaFixture f;
  f.graceful = true;
  f.node(aNode("n1").allocatable("cpu", "4"));
  f.node(aNode("closed").allocatable("cpu", "32").unschedulable());
  f.set(aQuota("q").max("cpu", "40"));
  f.run(100ms);
  f.create(aPod("other").request("cpu", "4").priority(1).nodeName("n1"));
  f.run(1s);
  f.create(f.of("high", "q", "4").priority(9));
  f.run(15s);
  ASSERT_THAT(f.deletions, ElementsAre("other"));
  f.create(f.of("mine", "q", "4").priority(1).nodeName("n2"));
  f.run(1s);
  f.node(aNode("n2").allocatable("cpu", "4"));
  f.run(1min);
  EXPECT_THAT(f.deletions, ElementsAre("other"));
  f.remove("other");
  f.run(15s);
  EXPECT_EQ(f.nodeOf("high"), "n1");
  f.expectSound();
}

// As a new process finds it: its predecessor evicted the victim.
TEST(ElasticQuota, a_pod_whose_quota_is_full_loses_its_nomination_when_the_victims_are_gone) {
  QuotaFixture f;
  f.node(aNode("n1").allocatable("cpu", "4"));
  f.set(aQuota("q").max("cpu", "1").min("cpu", "1"));
  f.run(100ms);
  PodBuilder victim = aPod("victim").request("cpu", "4").priority(1).nodeName("n1");
  victim.object().metadata.deletionTimestamp = f.loop.wallNow() + 10min;
  auto& condition = victim.object().status.conditions.emplace_back();
  condition.type = "DisruptionTarget";
  condition.status = "True";
  condition.reason = "PreemptionByScheduler";
  f.create(victim);
  f.create(f.of("high", "q", "2").priority(9).nominated("n1"));
  f.run(15s);
  const Nominator& nominator = f.scheduler->profiles().begin()->second->nominator();
  EXPECT_FALSE(nominator.byNode().empty());
  f.remove("victim");
  f.run(1s);
  EXPECT_TRUE(nominator.byNode().empty());
}

// Evicting "mine" alone frees the quota but not the node, and evicting "bystander" alone the node
// but not the quota.
TEST(ElasticQuota, in_a_full_quota_on_a_full_node_a_pod_takes_the_place_of_its_own_and_others) {
  QuotaFixture f;
  f.node(aNode("n1").allocatable("cpu", "8"));
  f.node(aNode("closed").allocatable("cpu", "8").unschedulable());
  f.set(aQuota("q").max("cpu", "4").min("cpu", "4"));
  f.run(100ms);
  f.create(f.of("mine", "q", "1").priority(5));
  f.create(
      f.of("fixed", "q", "1").priority(1).label(std::string(model::kLabelPreemptible), "false"));
  f.create(f.of("important", "q", "1").priority(20));
  f.create(aPod("bystander").request("cpu", "2").priority(5));
  f.create(aPod("stays").request("cpu", "3").priority(6));
  f.run(1s);
  f.create(f.of("high", "q", "2").priority(9));
  f.run(15s);
  EXPECT_THAT(f.deletions, ::testing::UnorderedElementsAre("mine", "bystander"));
  EXPECT_EQ(f.nodeOf("high"), "n1");
  f.expectSound();
}

TEST(ElasticQuota, other_pods_of_a_full_node_stay_if_the_quota_gets_no_room_there) {
  QuotaFixture f;
  f.node(aNode("closed").allocatable("cpu", "8").unschedulable());
  f.node(aNode("n1").allocatable("cpu", "4"));
  f.node(aNode("n2").allocatable("cpu", "2"));
  f.set(aQuota("q").max("cpu", "4").min("cpu", "4"));
  f.run(100ms);
  f.create(f.of("important", "q", "2").priority(20).nodeName("n2"));
  f.create(f.of("mine", "q", "1").priority(5));
  f.create(aPod("bystander").request("cpu", "3").priority(5));
  f.run(1s);
  f.create(f.of("high", "q", "3").priority(9));
  f.run(15s);
  EXPECT_THAT(f.deletions, ElementsAre());
  EXPECT_EQ(f.nodeOf("high"), "");
  f.expectSound();
}

// Evicting "theirs" would free the parent's quota as well as the node, but it is entitled to both.
TEST(ElasticQuota, a_pod_of_a_child_quota_stays_for_a_pod_whose_quota_and_node_are_full) {
  QuotaFixture f;
  f.node(aNode("n1").allocatable("cpu", "4"));
  f.node(aNode("closed").allocatable("cpu", "8").unschedulable());
  f.set(aQuota("org").max("cpu", "4").min("cpu", "4"));
  f.set(aQuota("team").below("org").max("cpu", "4").min("cpu", "3"));
  f.run(100ms);
  f.create(f.of("mine", "org", "1").priority(5));
  f.create(f.of("theirs", "team", "3").priority(1));
  f.run(1s);
  ASSERT_EQ(f.nodeOf("theirs"), "n1");
  f.create(f.of("high", "org", "2").priority(9));
  f.run(15s);
  EXPECT_THAT(f.deletions, ElementsAre());
  f.expectSound();
}

// What the quota frees by evicting pods of other quotas does not belong to it: those quotas are
// entitled to it.
TEST(ElasticQuota, nobody_of_another_quota_leaves_for_a_pod_whose_quota_has_no_room) {
  QuotaFixture f;
  f.node(aNode("n1").allocatable("cpu", "12"));
  f.set(aQuota("q").max("cpu", "8").min("cpu", "6"));
  f.set(aQuota("other").max("cpu", "8").min("cpu", "6"));
  f.run(100ms);
  f.create(f.of("a", "q", "6").priority(9));
  f.create(f.of("b", "other", "6").priority(1));
  f.run(1s);
  f.create(f.of("high", "q", "2").priority(9));
  f.run(1min);
  EXPECT_THAT(f.deletions, ElementsAre());
  EXPECT_THAT(f.lastCondition("high"), HasSubstr("Insufficient quotas"));
}

// A full quota of 6 CPUs whose pods of lower priority are on three nodes.
struct LowerPodsOnSeveralNodes : ::testing::Test {
  QuotaFixture f{"{enableRuntimeQuota: false}"};
  LowerPodsOnSeveralNodes() {
    f.set(aQuota("q").max("cpu", "6"));
    int priority = 0;
    for (const char* name : {"n1", "n2", "n3"}) {
      f.node(aNode(name));  // 4 CPUs
      f.create(f.of("on-" + std::string(name), "q", "2").priority(++priority).nodeName(name));
    }
    f.create(f.of("stranger", "", "1").priority(0).nodeName("n3"));
    f.run(1s);
  }
};

TEST_F(LowerPodsOnSeveralNodes, make_room_for_a_pod_that_needs_more_than_one_node_frees) {
  f.create(f.of("p", "q", "4").priority(9));
  f.run(30s);
  EXPECT_THAT(f.deletions, ::testing::UnorderedElementsAre("on-n1", "on-n2"));
  EXPECT_NE(f.nodeOf("p"), "");
  f.expectSound();
}

// n1 alone frees enough, but "guarded" may not leave.
TEST_F(LowerPodsOnSeveralNodes, leave_rather_than_one_whose_disruption_budget_is_used_up) {
  f.set(aQuota("q").max("cpu", "8"));
  f.create(f.of("guarded", "q", "2").priority(1).label("app", "guarded").nodeName("n1"));
  api::PodDisruptionBudget none;
  none.metadata.name = "none";
  none.metadata.namespace_ = "default";
  none.spec.selector.emplace().matchLabels["app"] = "guarded";
  f.scheduler->stores().of<api::PodDisruptionBudget>().set(
      std::make_shared<const api::PodDisruptionBudget>(none));
  f.run(1s);
  f.create(f.of("p", "q", "4").priority(9));
  f.run(30s);
  EXPECT_THAT(f.deletions, ::testing::UnorderedElementsAre("on-n1", "on-n2"));
  EXPECT_EQ(f.nodeOf("p"), "n2");
  f.expectSound();
}

TEST_F(LowerPodsOnSeveralNodes, leave_once_and_nobody_else_leaves_while_they_terminate) {
  f.graceful = true;
  f.create(f.of("p", "q", "4").priority(9));
  f.run(5s);
  ASSERT_THAT(f.deletions, ::testing::UnorderedElementsAre("on-n1", "on-n2"));
  f.create(f.of("other", "", "1").nodeName("n2"));
  f.run(1s);
  f.remove("other");
  f.remove("on-n1");
  f.run(60s);
  EXPECT_THAT(f.deletions, ::testing::SizeIs(2));
  EXPECT_EQ(f.nodeOf("p"), "");
  EXPECT_NE(f.pods.at("p")->status.nominatedNodeName, "");
  f.remove("on-n2");
  f.run(30s);
  EXPECT_NE(f.nodeOf("p"), "");
  EXPECT_THAT(f.deletions, ::testing::SizeIs(2));
}

TEST_F(LowerPodsOnSeveralNodes, that_are_gone_end_a_nomination_that_the_quota_does_not_admit_now) {
  f.graceful = true;
  f.create(f.of("p", "q", "4").priority(9));
  f.run(5s);
  ASSERT_THAT(f.deletions, ::testing::UnorderedElementsAre("on-n1", "on-n2"));
  f.set(aQuota("q").max("cpu", "3"));
  f.run(5s);
  EXPECT_NE(f.pods.at("p")->status.nominatedNodeName, "");
  f.remove("on-n1");
  f.remove("on-n2");
  f.run(15s);
  EXPECT_EQ(f.pods.at("p")->status.nominatedNodeName, "");
  EXPECT_EQ(f.nodeOf("p"), "");
}

TEST_F(LowerPodsOnSeveralNodes, stay_when_all_of_them_together_are_not_enough) {
  f.create(f.of("p", "q", "7").priority(9));
  f.create(f.of("middle", "q", "4").priority(2));
  f.run(30s);
  EXPECT_THAT(f.deletions, ::testing::IsEmpty());
}

}  // namespace
}  // namespace koord::scheduler
