#include "scheduler/plugins/defaultpreemption/plugin.h"

#include <gtest/gtest.h>

#include "api/codec.h"
#include "api/resource_claims.h"
#include "scheduler/framework/diagnosis.h"
#include "scheduler/plugins/dynamicresources/objects.h"
#include "scheduler/plugins/registry.h"
#include "scheduler/testing/world.h"

namespace koord::scheduler {
namespace {

using testing::aNode;
using testing::aPod;
using testing::PodBuilder;
using testing::World;
using namespace std::chrono_literals;

struct PreemptionTest : ::testing::Test {
  World world;
  PreemptionTest() {
    world.gates.insert("DynamicResourceAllocation");
    EXPECT_TRUE(world.configure(makeRegistry()).empty());
  }

  PodBuilder running(const std::string& name, const std::string& node, int priority,
                     const std::string& cpu, int startedAt = 0) {
    PodBuilder pod =
        aPod(name).request("cpu", cpu).priority(priority).nodeName(node).label("app", name);
    pod.object().status.startTime = WallTime{} + std::chrono::seconds(startedAt);
    world.bound(pod);
    return pod;
  }
  void budget(const std::string& name, const std::string& label, const std::string& value,
              int allowed) {
    api::PodDisruptionBudget object;
    object.metadata.name = name;
    object.metadata.namespace_ = "default";
    object.spec.selector.emplace().matchLabels[label] = value;
    object.status.disruptionsAllowed = allowed;
    world.stores().of<api::PodDisruptionBudget>().set(
        std::make_shared<const api::PodDisruptionBudget>(object));
  }
  struct Answer {
    std::string node;     // nominated
    std::string message;  // of the whole failure
    std::size_t victims = 0;
  };
  PostFilterPlugin& preemption() {
    const auto& plugins = world.profile().postFilter;
    const auto found = std::ranges::find_if(
        plugins, [](const auto& plugin) { return plugin.name == "DefaultPreemption"; });
    return *found->point;
  }
  Answer preempt(const PodBuilder& builder) {
    const PodPtr pod = world.pod(builder);
    CycleState state;
    SearchResult found = world.search().find(state, pod);
    EXPECT_FALSE(found.status.ok());
    const PostFilterResult result = preemption().postFilter(state, pod, found.diagnosis);
    found.diagnosis.postFilterMessage = result.status.message();
    world.loop().advance(2s);  // until it is clear that no pod can be evicted without an API
    return {result.nomination.node, found.diagnosis.message(), result.victims.value_or(0)};
  }
  // The victims on the node, or why preemption does not help.
  std::string victims(const PodBuilder& builder, const std::string& node) {
    const PodPtr pod = world.pod(builder);
    CycleState state;
    world.search().find(state, pod);
    const PreemptionRules rules;
    DryRun dryRun(world, rules);
    dryRun.begin(state, *pod);
    const auto outcome = dryRun.on(state, pod, *world.cluster().findNode(node));
    if (!outcome->status.ok()) return outcome->status.message();
    std::string text;
    for (const PodPtr& victim : outcome->candidate.victims)
      text += victim->pod->metadata.name + " ";
    return text + std::to_string(outcome->candidate.cost.budgetsBroken);
  }
};

TEST_F(PreemptionTest, as_few_and_as_unimportant_pods_as_possible_have_to_leave) {
  world.node(aNode("n1"));
  running("v1", "n1", 50, "1");
  running("v2", "n1", 20, "2", 10);
  running("v3", "n1", 20, "1", 9);
  EXPECT_EQ(victims(aPod("p").priority(100).request("cpu", "2"), "n1"), "v2 0");
  EXPECT_EQ(victims(aPod("p").priority(100).request("cpu", "4"), "n1"), "v1 v3 v2 0");
  EXPECT_EQ(victims(aPod("p").priority(30).request("cpu", "3"), "n1"), "v3 v2 0");
  EXPECT_EQ(victims(aPod("p").priority(30).request("cpu", "4"), "n1"), "Insufficient cpu");
  EXPECT_EQ(victims(aPod("p").priority(20).request("cpu", "1"), "n1"),
            "No preemption victims found for incoming pod");
}

TEST_F(PreemptionTest, trying_leaves_no_trace) {
  world.node(aNode("n1"));
  for (const char* name : {"a", "b", "c", "d"}) running(name, "n1", 1, "1");
  victims(aPod("p").priority(9).request("cpu", "3"), "n1");
  EXPECT_EQ(world.cluster().node(0).pods.size(), 4u);
  EXPECT_EQ(world.cluster().assumedTotal(), 0u);
  EXPECT_EQ(world.cluster().verifyNode(0), "");
}

TEST_F(PreemptionTest, pods_that_their_budget_protects_are_put_back_first) {
  world.node(aNode("n1").allocatable("cpu", "3"));
  for (const auto& [name, start] : {std::pair{"x", 1}, {"y", 2}, {"z", 3}}) {
    PodBuilder pod = aPod(name).request("cpu", "1").priority(1).nodeName("n1").label("b", "1");
    pod.object().status.startTime = WallTime{} + std::chrono::seconds(start);
    world.bound(pod);
  }
  budget("b", "b", "1", 1);
  EXPECT_EQ(victims(aPod("p").priority(9).request("cpu", "1"), "n1"), "x 0");
  EXPECT_EQ(victims(aPod("p").priority(9).request("cpu", "2"), "n1"), "x z 1");
}

TEST_F(PreemptionTest, a_budget_counts_no_pod_that_is_on_its_way_out_already) {
  world.node(aNode("n1").allocatable("cpu", "1"));
  running("x", "n1", 1, "1");
  budget("b", "app", "x", 0);
  EXPECT_EQ(victims(aPod("p").priority(9).request("cpu", "1"), "n1"), "x 1");
  api::PodDisruptionBudget object =
      *world.stores().of<api::PodDisruptionBudget>().get({"default", "b"});
  object.status.disruptedPods["x"] = "";
  world.stores().of<api::PodDisruptionBudget>().set(
      std::make_shared<const api::PodDisruptionBudget>(object));
  EXPECT_EQ(victims(aPod("p").priority(9).request("cpu", "1"), "n1"), "x 0");
}

TEST_F(PreemptionTest, the_node_is_chosen_by_budgets_then_priorities_then_their_sum) {
  for (const char* name : {"a", "b", "c"}) world.node(aNode(name).allocatable("cpu", "2"));
  running("a1", "a", 10, "1");
  running("a2", "a", 5, "1");
  running("b1", "b", 10, "2");
  running("c1", "c", 5, "2");
  budget("c", "app", "c1", 0);
  EXPECT_EQ(preempt(aPod("p").priority(100).request("cpu", "2")).node, "b");
  budget("c", "app", "c1", 1);
  EXPECT_EQ(preempt(aPod("q").priority(100).request("cpu", "2")).node, "c");
}

TEST_F(PreemptionTest, of_equal_nodes_the_one_whose_victims_started_last_is_chosen) {
  for (const char* name : {"a", "b", "c"}) world.node(aNode(name).allocatable("cpu", "1"));
  running("a1", "a", 1, "1", 100);
  running("b1", "b", 1, "1", 300);
  running("c1", "c", 1, "1", 200);
  EXPECT_EQ(preempt(aPod("p").priority(9).request("cpu", "1")).node, "b");
}

TEST_F(PreemptionTest, messages_say_why_preemption_does_not_help) {
  for (const char* name : {"n1", "n2", "n3"}) world.node(aNode(name));
  world.node(aNode("t1").taint("t"));
  world.node(aNode("t2").taint("t"));
  for (const char* name : {"n1", "n2", "n3"}) running(std::string("on-") + name, name, 0, "4");
  EXPECT_EQ(preempt(aPod("p").request("cpu", "1")).message,
            "0/5 nodes are available: 2 node(s) had untolerated taint(s), 3 Insufficient cpu. "
            "preemption: 0/5 "
            "nodes are available: 2 Preemption is not helpful for scheduling, 3 No preemption "
            "victims found for "
            "incoming pod.");
  EXPECT_EQ(preempt(aPod("p").request("cpu", "10").priority(9)).message,
            "0/5 nodes are available: 2 node(s) had untolerated taint(s), 3 Insufficient cpu. "
            "preemption: 0/5 "
            "nodes are available: 5 Preemption is not helpful for scheduling.");
  PodBuilder never = aPod("p").request("cpu", "1").priority(9);
  never.object().spec.preemptionPolicy = "Never";
  EXPECT_EQ(preempt(never).message,
            "0/5 nodes are available: 2 node(s) had untolerated taint(s), 3 Insufficient cpu. "
            "preemption: not "
            "eligible due to preemptionPolicy=Never.");
}

TEST_F(PreemptionTest, a_pod_does_not_preempt_again_while_its_victims_are_leaving) {
  world.node(aNode("n1"));
  PodBuilder victim = aPod("v").request("cpu", "4").nodeName("n1");
  victim.object().metadata.deletionTimestamp = WallTime{};
  api::PodCondition condition;
  condition.type = "DisruptionTarget";
  condition.status = "True";
  condition.reason = "PreemptionByScheduler";
  victim.object().status.conditions.push_back(condition);
  world.bound(victim);
  EXPECT_EQ(preempt(aPod("p").request("cpu", "4").priority(9).nominated("n1")).message,
            "0/1 nodes are available: 1 Insufficient cpu. preemption: not eligible due to a "
            "terminating pod on the "
            "nominated node.");
  EXPECT_EQ(preempt(aPod("p").request("cpu", "4").priority(9)).node, "n1");
}

TEST_F(PreemptionTest, room_promised_to_others_is_not_taken_by_equals) {
  world.node(aNode("n1"));
  running("v", "n1", 0, "4");
  world.nominator().add(world.pod(aPod("first").request("cpu", "3").priority(9)), {true, "n1"});
  EXPECT_EQ(preempt(aPod("p").request("cpu", "3").priority(9)).node, "");
  EXPECT_EQ(preempt(aPod("p").request("cpu", "1").priority(9)).node, "n1");
  EXPECT_EQ(preempt(aPod("p").request("cpu", "3").priority(10)).node, "n1");
}

TEST_F(PreemptionTest, preemption_frees_a_pod_from_the_anti_affinity_of_lower_pods) {
  world.node(aNode("n1").label("host", "n1"));
  world.bound(aPod("v").apart("host", "app", "web").nodeName("n1"));
  EXPECT_EQ(victims(aPod("p").priority(9).label("app", "web"), "n1"), "v 0");
  EXPECT_EQ(preempt(aPod("p").priority(9).label("app", "web")).node, "n1");
}

// Devices that nodes share are free without a change of any node.
TEST_F(PreemptionTest, outcomes_kept_for_equal_pods_follow_the_epochs_of_plugins) {
  const auto set = [this]<class T>(std::type_identity<T>, const json::value& object) {
    world.stores().of<T>().set(std::make_shared<const T>(*api::decode<T>(object)));
  };
  set(std::type_identity<api::DeviceClass>(), {{"metadata", {{"name", "net"}}}, {"spec", {}}});
  set(std::type_identity<api::ResourceSlice>(),
      {{"metadata", {{"name", "s"}}},
       {"spec",
        {{"driver", "net.example.com"},
         {"allNodes", true},
         {"pool", {{"name", "net"}, {"generation", 1}, {"resourceSliceCount", 1}}},
         {"devices", json::array{{{"name", "port"}}}}}}});
  const auto claim = [&](const std::string& name, json::object status) {
    const json::value exactly{
        {"deviceClassName", "net"}, {"allocationMode", "ExactCount"}, {"count", 1}};
    const json::array requests{{{"name", "r"}, {"exactly", exactly}}};
    set(std::type_identity<api::ResourceClaim>(),
        {{"metadata", {{"name", name}, {"namespace", "default"}, {"uid", name}}},
         {"spec", {{"devices", {{"requests", requests}}}}},
         {"status", std::move(status)}});
  };
  const json::array results{
      {{"request", "r"}, {"driver", "net.example.com"}, {"pool", "net"}, {"device", "port"}}};
  claim("theirs", {{"allocation", {{"devices", {{"results", results}}}}}});
  claim("own", {});
  world.node(aNode("n1"));
  world.node(aNode("n2").allocatable("cpu", "1"));
  running("v", "n1", 1, "4");
  PodBuilder pod = aPod("p").priority(9).request("cpu", "2");
  auto& entry = pod.object().spec.resourceClaims.emplace_back();
  entry.name = "net";
  entry.resourceClaimName = "own";
  EXPECT_EQ(preempt(pod).node, "");
  claim("theirs", {});
  EXPECT_EQ(preempt(pod).node, "n1");
}

TEST_F(PreemptionTest, outcomes_kept_for_equal_pods_follow_every_change) {
  for (const char* name : {"a", "b"}) world.node(aNode(name).allocatable("cpu", "2"));
  running("a1", "a", 1, "2");
  running("b1", "b", 2, "2");
  const auto next = [&](const char* name) {
    return preempt(aPod(name).priority(9).request("cpu", "2")).node;
  };
  EXPECT_EQ(next("p1"), "a");
  EXPECT_EQ(next("p2"), "a");
  world.nominator().add(world.pod(aPod("p1").priority(9).request("cpu", "2")), {true, "a"});
  EXPECT_EQ(next("p2"), "b");
  EXPECT_EQ(next("p1"), "a") << "it was promised to this one";
  EXPECT_EQ(next("p2"), "b");
  world.nominator().remove("uid-default-p1");
  EXPECT_EQ(next("p2"), "a");
  running("a2", "a", 7, "0");
  EXPECT_EQ(next("p2"), "a") << "what asks for nothing stays";
  world.cluster().removePod("uid-default-a1");
  running("a3", "a", 3, "2");
  EXPECT_EQ(next("p2"), "b");
  budget("b", "app", "b1", 0);
  EXPECT_EQ(next("p2"), "a");
}

}  // namespace
}  // namespace koord::scheduler
