// Gangs in full clusters: their victims, and which pods get the freed resources.

#include "scheduler/plugins/coscheduling/server_fixture.h"
#include "scheduler/plugins/elasticquota/quotas.h"

namespace koord::scheduler {
namespace {

using testing::aNode;
using testing::aPod;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::ServerFixture;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;
using namespace std::chrono_literals;

struct FullCluster : ServerFixture {
  using ServerFixture::ServerFixture;
  void gangOf(int count, const char* cpu, int priority) {
    gang("g", count);
    for (int i = 0; i < count; ++i)
      create(member("g-" + std::to_string(i), "g", cpu).priority(priority));
  }
};

TEST(GangPreemption, makes_room_for_one_member_after_the_other_until_all_have_some) {
  FullCluster f;
  f.node(aNode("n1").allocatable("cpu", "6"));
  f.budget("none", 0);
  f.create(f.running("lowest", "1", -10));
  f.guarded("kept", "1", -10, "none");
  f.create(f.running("high", "3", 1000));
  f.create(f.running("low", "1", 100));
  f.run();
  f.gangOf(2, "1", 2000);
  f.run(60s);
  EXPECT_THAT(f.deletions, UnorderedElementsAre("lowest", "low"));
  EXPECT_EQ(f.nodeOf("g-0"), "n1");
  EXPECT_EQ(f.nodeOf("g-1"), "n1");
  f.expectSound();
}

TEST(GangPreemption, breaks_budgets_where_the_gang_cannot_start_otherwise) {
  FullCluster f;
  f.node(aNode("n1").allocatable("cpu", "4"));
  f.budget("none", 0);
  f.guarded("large", "2", 100, "none");
  f.guarded("small", "1", 5, "none");
  f.create(f.running("other", "1", 100));
  f.run();
  f.gangOf(2, "2", 1000);
  f.run(60s);
  EXPECT_THAT(f.deletions, UnorderedElementsAre("large", "small", "other"));
  EXPECT_EQ(f.nodeOf("g-0"), "n1");
  EXPECT_EQ(f.nodeOf("g-1"), "n1");
  f.expectSound();
}

TEST(GangPreemption, a_member_that_had_room_keeps_it_while_room_is_made_for_the_next) {
  FullCluster f;
  f.node(aNode("n1").allocatable("cpu", "4"));
  f.grace["low"] = 60s;
  f.create(f.running("low", "2", 1));
  f.run();
  f.gangOf(2, "2", 10);
  f.run(5s);
  ASSERT_THAT(f.deletions, ElementsAre("low"));
  f.create(aPod("thief").request("cpu", "2").priority(10));
  f.run(20s);
  EXPECT_EQ(f.nodeOf("thief"), "");
  f.run(60s);
  EXPECT_EQ(f.nodeOf("g-0"), "n1");
  EXPECT_EQ(f.nodeOf("g-1"), "n1");
  EXPECT_EQ(f.nodeOf("thief"), "");
  f.expectSound();
}

// A member whose victims still leave finds the free node that another member has been promised.
TEST(GangPreemption, members_keep_their_nominated_nodes_while_victims_leave) {
  for (const bool plans : {true, false}) {
    FullCluster f(json::object{{"enablePreemption", plans}});
    f.node(aNode("n1").allocatable("cpu", "5"));
    for (const char* node : {"n2", "n3"}) {
      f.node(aNode(node).allocatable("cpu", "4"));
      const std::string low = "low-" + std::string(node);
      f.grace[low] = 60s;
      f.create(f.running(low, "4", 1, node));
    }
    f.run();
    for (const char* gang : {"g", "h"}) {
      f.gang(gang, 2);
      for (const char* index : {"-0", "-1"})
        f.create(f.member(gang + std::string(index), gang, "4").priority(10));
    }
    f.run(5s);
    std::map<std::string, std::string> nominated;
    for (const char* pod : {"g-0", "g-1", "h-0", "h-1"}) nominated[pod] = f.nominated(pod);
    for (int i = 0; i < 20; ++i) {  // wakes members
      f.create(f.running("other", "1", 1, i % 2 == 0 ? "n1" : "n2"));
      f.remove("other");
      f.run(1s);
      for (const auto& [pod, node] : nominated) EXPECT_EQ(f.nominated(pod), node) << pod << plans;
    }
    f.run(60s);
    EXPECT_THAT(f.placed(), ::testing::IsSupersetOf({"g-0", "g-1"}));
    f.expectSound();
  }
}

// Its nominations are of an earlier leader, and no PostFilter plugin has anything to say.
TEST(GangPreemption, a_gang_that_cannot_start_and_awaits_no_victims_is_promised_nothing) {
  FullCluster f;
  f.configuration_.profiles.front().plugins["postFilter"] = {{{"Coscheduling", 0}}, {"*"}};
  f.restart();
  f.node(aNode("n1").allocatable("cpu", "4"));
  f.gang("g", 3);
  for (const char* name : {"g-0", "g-1"})
    f.create(f.member(name, "g", "1500m").priority(10).nominated("n1"));
  f.create(f.member("g-2", "g").priority(10).nodeSelector("name", "n2"));
  f.run(60s);
  f.create(aPod("low").request("cpu", "2").priority(0));
  f.run(60s);
  EXPECT_EQ(f.nodeOf("low"), "n1");
}

TEST(GangPreemption, no_member_leaves_for_another_that_had_no_room_beside_it) {
  FullCluster f;
  f.node(aNode("n1").allocatable("cpu", "8"));
  f.create(f.running("filler", "1", -10));
  f.run();
  f.gang("g", 2);
  f.create(f.member("g-large", "g", "8").priority(9));
  f.create(f.member("g-small", "g", "1").priority(1));
  f.create(f.member("g-huge", "g", "100").priority(1));
  f.run(60s);
  EXPECT_THAT(f.deletions, IsEmpty());
}

TEST(GangPreemption, nothing_stays_promised_to_a_gang_whose_room_went_to_a_higher_one) {
  FullCluster f;
  f.node(aNode("n1").allocatable("cpu", "4"));
  f.grace["low"] = 20s;
  f.create(f.running("low", "2", 1));
  f.run();
  f.gangOf(2, "2", 10);
  f.run(5s);
  ASSERT_THAT(f.deletions, ElementsAre("low"));
  f.create(aPod("higher").request("cpu", "2").priority(20));
  f.run(60s);
  EXPECT_EQ(f.nodeOf("higher"), "n1");
  EXPECT_EQ(f.nodeOf("g-0"), "");
  f.create(aPod("lower").request("cpu", "2").priority(0));
  f.run(60s);
  EXPECT_EQ(f.nodeOf("lower"), "n1") << "the gang cannot start: it keeps nobody off";
  f.expectSound();
}

// With a plan for the whole gang, and with preemption for one member after the other.
TEST(GangPreemption, nobody_leaves_for_a_gang_one_member_of_which_may_not_preempt) {
  for (const bool plans : {true, false}) {
    FullCluster f(json::object{{"enablePreemption", plans}});
    for (const char* node : {"n1", "n2"}) {
      f.node(aNode(node).allocatable("cpu", "4"));
      f.create(f.running("low-" + std::string(node), "4", 1, node));
    }
    f.run();
    f.gang("g", 2);
    f.create(f.member("g-0", "g", "4").priority(10));
    auto never = f.member("g-1", "g", "4").priority(10);
    never.object().spec.preemptionPolicy = "Never";
    f.create(never);
    f.run(60s);
    EXPECT_THAT(f.deletions, IsEmpty()) << plans;
    f.expectSound();
  }
}

TEST(GangPreemption, who_may_not_preempt_takes_the_free_room_of_a_gang) {
  for (const bool plans : {true, false}) {
    FullCluster f(json::object{{"enablePreemption", plans}});
    for (const char* node : {"n1", "n2"})
      f.node(aNode(node).allocatable("cpu", "4").label("name", node));
    f.create(f.running("low", "4", 1, "n1"));
    f.run();
    f.gang("g", 2);
    f.create(f.member("g-0", "g", "4").priority(10).nodeSelector("name", "n1"));
    auto never = f.member("g-1", "g", "2").priority(10);
    never.object().spec.preemptionPolicy = "Never";
    f.create(never.nodeSelector("name", "n2"));
    f.run(60s);
    EXPECT_THAT(f.deletions, ElementsAre("low")) << plans;
    EXPECT_EQ(f.nodeOf("g-1"), "n2") << plans;
  }
}

TEST(GangPreemption, a_member_that_may_not_preempt_does_not_keep_a_promise_of_its_gang) {
  for (const bool plans : {true, false}) {
    FullCluster f(json::object{{"enablePreemption", plans}});
    f.node(aNode("n1").allocatable("cpu", "4"));
    f.create(f.running("high", "2", 100));
    f.run();
    f.gang("g", 2);
    for (const char* name : {"g-0", "g-1"}) {
      auto never = f.member(name, "g", "2").priority(10).nominated("n1");
      never.object().spec.preemptionPolicy = "Never";
      f.create(never);
    }
    f.run(10s);
    EXPECT_EQ(f.nominated("g-0"), "") << plans;
    EXPECT_EQ(f.nominated("g-1"), "") << plans;
    f.create(aPod("lower").request("cpu", "2").priority(0));
    f.run(10s);
    EXPECT_EQ(f.nodeOf("lower"), "n1") << plans;
  }
}

// No pod is evicted unless all members that the gang needs would get a node. With a plan for the
// whole gang, and with preemption for one member after the other.
struct UnusedNominations : ::testing::TestWithParam<bool> {
  FullCluster f{json::object{{"enablePreemption", GetParam()}}};
  void node(const char* name, const char* cpu = "4") {
    f.node(aNode(name).allocatable("cpu", cpu).label("name", name));
  }
};
INSTANTIATE_TEST_SUITE_P(, UnusedNominations, ::testing::Bool());

TEST_P(UnusedNominations, nobody_leaves_for_one_member_when_there_is_no_room_for_the_others) {
  node("n1");
  node("n2");
  f.create(f.running("low", "4", 1, "n1"));
  f.create(f.running("equal", "4", 10, "n2"));
  f.run();
  f.gangOf(2, "4", 10);
  f.run(60s);
  EXPECT_THAT(f.deletions, IsEmpty());
}

TEST_P(UnusedNominations,
       nobody_leaves_for_a_gang_with_members_to_spare_when_too_few_would_find_room) {
  node("n1");
  f.create(f.running("low", "4", 1, "n1"));
  f.run();
  f.gang("g", 2);
  f.create(f.member("g-0", "g", "4").priority(10));
  for (const char* name : {"g-1", "g-2"}) f.create(f.member(name, "g", "100").priority(10));
  f.run(60s);
  EXPECT_THAT(f.deletions, IsEmpty());
}

TEST_P(UnusedNominations, members_to_spare_need_no_room) {
  node("n1");
  f.create(f.running("low", "4", 1, "n1"));
  f.run();
  f.gang("g", 2);
  for (const char* name : {"g-0", "g-2"}) f.create(f.member(name, "g", "2").priority(10));
  f.create(f.member("g-1", "g", "100").priority(10));
  f.run(60s);
  EXPECT_THAT(f.deletions, ElementsAre("low"));
  EXPECT_EQ(f.nodeOf("g-0"), "n1");
  EXPECT_EQ(f.nodeOf("g-2"), "n1");
  f.expectSound();
}

TEST_P(UnusedNominations, a_member_to_spare_that_may_not_preempt_keeps_nobody_from_making_room) {
  node("n1");
  f.create(f.running("low", "4", 1, "n1"));
  f.run();
  f.gang("g", 2);
  auto never = f.member("g-0", "g", "2").priority(10);
  never.object().spec.preemptionPolicy = "Never";
  for (const char* name : {"g-1", "g-2"}) f.create(f.member(name, "g", "2").priority(10));
  f.create(never);
  f.run(60s);
  EXPECT_THAT(f.deletions, ElementsAre("low"));
  EXPECT_EQ(f.nodeOf("g-1"), "n1");
  EXPECT_EQ(f.nodeOf("g-2"), "n1");
}

TEST_P(UnusedNominations, nobody_leaves_for_members_that_are_fewer_than_their_gang_lacks) {
  node("n1", "5");
  node("n2");
  f.create(f.running("low", "4", 1, "n2"));
  f.create(f.member("g-0", "g", "4").priority(10).nodeName("n1"));
  f.run();
  f.gang("g", 3, {{"gang.scheduling.koordinator.sh/match-policy", "only-waiting"}});
  for (const char* name : {"g-1", "g-2"}) f.create(f.member(name, "g", "1").priority(10));
  f.run(60s);
  EXPECT_THAT(f.deletions, IsEmpty());
}

// g-0 may go to both nodes, g-1 to n1 alone, which has the cheapest victims.
TEST_P(UnusedNominations, nobody_leaves_a_node_for_one_member_that_another_one_needs) {
  node("n1");
  node("n2");
  for (const char* name : {"low-0", "low-1"}) f.create(f.running(name, "2", 1, "n1"));
  f.create(f.running("middle", "4", 5, "n2"));
  f.run();
  f.gang("g", 2);
  f.create(f.member("g-0", "g", "4").priority(10));
  f.create(f.member("g-1", "g", "4").priority(10).nodeSelector("name", "n1"));
  f.run(60s);
  EXPECT_THAT(f.deletions, UnorderedElementsAre("low-0", "low-1", "middle"));
  EXPECT_EQ(f.nodeOf("g-0"), "n2");
  EXPECT_EQ(f.nodeOf("g-1"), "n1");
}

// --- Events while victims terminate.

struct WhileVictimsTerminate : ::testing::Test {
  FullCluster f;
  // g-0 fits, and `low`, the victim of g-1, terminates for a minute.
  void start(const std::function<void(api::PodGroup&)>& change = [](api::PodGroup&) {}) {
    f.node(aNode("n1").allocatable("cpu", "4"));
    f.grace["low"] = 60s;
    f.create(f.running("low", "2", 1));
    f.run();
    auto group = f.groupObject("g", 2);
    change(*group);
    f.groups().set(group);
    for (const char* name : {"g-0", "g-1"}) f.create(f.member(name, "g", "2").priority(10));
    f.run(5s);
    ASSERT_THAT(f.deletions, ElementsAre("low"));
  }
  void expectThatNobodyIsKeptOff() {
    f.create(aPod("other").request("cpu", "2").priority(0));
    f.run(40s);
    EXPECT_EQ(f.nodeOf("other"), "n1");
    f.expectSound();
  }
  void expectThatTheGangStarts() {
    f.create(aPod("thief").request("cpu", "2").priority(10));
    f.run(180s);
    EXPECT_EQ(f.nodeOf("g-0"), "n1");
    EXPECT_EQ(f.nodeOf("g-1"), "n1");
    EXPECT_EQ(f.nodeOf("thief"), "");
    f.expectSound();
  }
};

TEST_F(WhileVictimsTerminate, a_gang_that_loses_a_member_keeps_nobody_off) {
  start();
  f.remove("g-1");
  expectThatNobodyIsKeptOff();
}

TEST_F(WhileVictimsTerminate, a_gang_that_loses_its_pod_group_keeps_nobody_off) {
  start();
  f.groups().erase({"default", "g"});
  expectThatNobodyIsKeptOff();
}

TEST_F(WhileVictimsTerminate, a_gang_that_comes_to_need_more_members_keeps_nobody_off) {
  start();
  f.gang("g", 3);
  expectThatNobodyIsKeptOff();
}

TEST_F(WhileVictimsTerminate, a_gang_that_is_gone_keeps_nobody_off) {
  start();
  f.remove("g-0");
  f.remove("g-1");
  expectThatNobodyIsKeptOff();
}

TEST_F(WhileVictimsTerminate, a_member_that_is_made_anew_takes_the_place_of_the_one_that_went) {
  start();
  f.remove("g-1");
  f.run(1s);
  f.create(f.member("g-2", "g", "2").priority(10));
  f.run(180s);
  EXPECT_EQ(f.nodeOf("g-0"), "n1");
  EXPECT_EQ(f.nodeOf("g-2"), "n1");
}

TEST_F(WhileVictimsTerminate, a_gang_that_needs_fewer_members_starts_with_those_that_have_room) {
  start();
  f.gang("g", 1);
  f.run(10s);
  EXPECT_NE(f.nodeOf("g-0").empty(), f.nodeOf("g-1").empty()) << "there is room for one";
  f.run(120s);
  EXPECT_EQ(f.nodeOf("g-0"), "n1");
  EXPECT_EQ(f.nodeOf("g-1"), "n1");
}

TEST_F(WhileVictimsTerminate, a_restart_keeps_what_was_promised) {
  start();
  f.SchedulerFixture::create();
  f.node(aNode("n1").allocatable("cpu", "4"));
  f.gang("g", 2);
  for (const auto& [name, pod] : f.pods) f.scheduler->podAdded(pod);
  f.scheduler->start();
  expectThatTheGangStarts();
}

TEST_F(WhileVictimsTerminate, a_gang_whose_waiting_time_ends_keeps_what_it_was_promised) {
  start([](api::PodGroup& group) {
    group.metadata.annotations["gang.scheduling.koordinator.sh/mode"] = "NonStrict";
    group.spec.scheduleTimeoutSeconds = 20;
  });
  expectThatTheGangStarts();
}

// --- Victims that a controller replaces at once by new pods.

struct Recreating : ServerFixture {
  // plans: preemption for the whole gang; if false, for one member after the other.
  explicit Recreating(bool plans) : ServerFixture(json::object{{"enablePreemption", plans}}) {
    api.answer = [this](const kube::Request& request) {
      const bool deletes = request.resource == "pods" && request.verb == kube::Verb::Delete;
      return deletes ? deletePod(request.name) : serve(request);
    };
  }
  Result<std::string> deletePod(const std::string& name) {
    deletions.push_back(name);
    if (grace.contains(name)) {
      leave(name);
    } else {
      // The scheduler sees the deletion before the reply.
      const auto pod = pods.extract(name).mapped();
      scheduler->podDeleted(pod);
    }
    create(aPod("new-" + name).request("cpu", "1").priority(0));
    // After the deletion of the first of one member's two victims the API is slow: the other
    // member's node is free long before the second victim is deleted.
    if (name != "single") api.latency = 500ms;
    return "{}";
  }
  // A gang of two members, each of which needs a whole node. The node with one victim is free
  // before the other node.
  void start(const std::string& sooner) {
    for (const char* name : {"n1", "n2"}) {
      node(aNode(name).allocatable("cpu", "2").label("name", name));
      if (name == sooner) {
        create(running("single", "2", 0, name));
      } else {
        for (const char* victim : {"first", "second"}) create(running(victim, "1", 0, name));
      }
    }
    run();
    gang("g", 2);
    create(member("g-0", "g", "2").priority(10).nodeSelector("name", "n1"));
    create(member("g-1", "g", "2").priority(10).nodeSelector("name", "n2"));
  }
  void expectThatTheGangRuns() {
    EXPECT_THAT(deletions, UnorderedElementsAre("single", "first", "second"));
    EXPECT_NE(nodeOf("g-0"), "");
    EXPECT_NE(nodeOf("g-1"), "");
    expectSound();
  }
};

struct Replaced : ::testing::TestWithParam<std::tuple<bool, const char*>> {
  Recreating f{std::get<0>(GetParam())};
  void start() { f.start(std::get<1>(GetParam())); }
};
INSTANTIATE_TEST_SUITE_P(, Replaced,
                         ::testing::Combine(::testing::Bool(), ::testing::Values("n1", "n2")));

TEST_P(Replaced, members_wait_for_each_others_victims_so_that_nobody_takes_their_nodes) {
  start();
  f.run(10s);
  f.expectThatTheGangRuns();
}

TEST_P(Replaced, nobody_takes_the_nodes_while_a_victim_takes_its_time) {
  f.grace["single"] = 60s;
  start();
  f.run(50s);
  EXPECT_EQ(f.nodeOf("g-0"), "");
  f.run(60s);
  f.expectThatTheGangRuns();
}

TEST_P(Replaced, nobody_takes_the_nodes_while_the_last_of_several_victims_takes_its_time) {
  f.grace["first"] = f.grace["second"] = 60s;
  start();
  f.run(50s);
  EXPECT_EQ(f.nodeOf("g-0"), "");
  f.run(60s);
  f.expectThatTheGangRuns();
}

// The victim of g-0 is removed first. The removal of the last victim of g-1 is not an event that
// g-0 waits for.
TEST(GangPreemption, a_victim_that_leaves_the_node_of_one_member_wakes_its_gang) {
  FullCluster f(json::object{{"enablePreemption", true}});
  for (const char* name : {"n1", "n2"})
    f.node(aNode(name).allocatable("cpu", "2").label("name", name));
  f.create(f.running("port", "1", 0, "n1").hostPort(80));
  for (const char* victim : {"first", "second"}) f.create(f.running(victim, "1", 0, "n2"));
  f.run();
  f.gang("g", 2);
  f.create(f.member("g-0", "g", "1").priority(10).nodeSelector("name", "n1").hostPort(80));
  f.create(f.member("g-1", "g", "2").priority(10).nodeSelector("name", "n2"));
  f.run(10s);
  EXPECT_THAT(f.deletions, UnorderedElementsAre("port", "first", "second"));
  EXPECT_EQ(f.nodeOf("g-0"), "n1");
  EXPECT_EQ(f.nodeOf("g-1"), "n2");
}

// g-2 and g-3 wait for the victims of g-1 when there comes to be room for g-3. They must start
// when g-1 is deleted, even if it has a finalizer: no other event follows.
void aMemberLeavesWhileItsVictimsAreEvicted(bool finalizer) {
  Recreating f(true);
  for (const char* name : {"n1", "n2", "n3"})
    f.node(aNode(name).allocatable("cpu", "2").label("name", name));
  f.gang("g", 3, {{"gang.scheduling.koordinator.sh/match-policy", "waiting-and-running"}});
  for (const char* name : {"g-0", "earlier"})
    f.create(f.member(name, "g", "1").priority(10).nodeName("n1"));
  f.run();
  f.remove("earlier");  // members that stay hear that their group is satisfied only once
  f.create(f.running("higher", "2", 100, "n3"));
  for (const char* victim : {"first", "second"}) {
    f.grace[victim] = 60s;
    f.create(f.running(victim, "1", 0, "n2"));
  }
  f.run();
  f.create(f.member("g-1", "g", "2").priority(10).nodeSelector("name", "n2"));
  f.create(f.member("g-2", "g", "1").priority(10).nodeSelector("name", "n1"));
  f.create(f.member("g-3", "g", "2").priority(10).nodeSelector("name", "n3"));
  f.run(200ms);
  ASSERT_THAT(f.deletions, ElementsAre("first"));
  f.remove("higher");
  f.update("g-2", [](api::Pod& pod) { pod.metadata.labels["changed"] = "yes"; });
  f.run(100ms);
  ASSERT_EQ(f.nodeOf("g-3"), "");
  if (finalizer) {
    f.update("g-1", [&](api::Pod& pod) { pod.metadata.deletionTimestamp = f.loop.wallNow(); });
  } else {
    f.remove("g-1");
  }
  f.run(10s);
  EXPECT_EQ(f.nodeOf("g-2"), "n1");
  EXPECT_EQ(f.nodeOf("g-3"), "n3");
}

TEST(GangPreemption, a_member_that_is_deleted_while_its_victims_are_evicted_holds_nobody) {
  aMemberLeavesWhileItsVictimsAreEvicted(false);
}

TEST(GangPreemption, a_member_that_terminates_while_its_victims_are_evicted_holds_nobody) {
  aMemberLeavesWhileItsVictimsAreEvicted(true);
}

// --- Nominations by plans for whole gangs.

struct WithQuota : ServerFixture {
  WithQuota() : ServerFixture(json::object{{"enablePreemption", true}}) {
    ProfileConfig& profile = configuration_.profiles.front();
    profile.plugins["multiPoint"].enabled.push_back({"ElasticQuota", 0});
    profile.plugins["postFilter"] = {
        {{"Coscheduling", 0}, {"ElasticQuota", 0}, {"DefaultPreemption", 0}}, {"*"}};
    profile.pluginConfig.push_back(
        {"ElasticQuota", json::object{{"enableRuntimeQuota", false}}, "args"});
    restart();
    for (const char* name : {"n1", "n2"}) node(aNode(name).allocatable("cpu", "32"));
    api::ElasticQuota quota;
    quota.metadata.name = "q";
    quota.metadata.namespace_ = "default";
    quota.spec.max["cpu"] = testing::quantity("10");
    scheduler->stores().of<api::ElasticQuota>().set(
        std::make_shared<const api::ElasticQuota>(quota));
  }
  void within(testing::PodBuilder pod) {
    create(pod.label("quota.scheduling.koordinator.sh/name", "q"));
  }
};

TEST(GangPreemption, who_uses_up_the_quota_of_a_gang_leaves_from_where_no_member_goes) {
  WithQuota f;
  f.within(f.running("low", "10", 0));
  f.create(f.running("elsewhere", "20", 0));
  f.run();
  f.gang("g", 2);
  for (const char* name : {"g-0", "g-1"}) f.within(f.member(name, "g", "5").priority(1000));
  f.run(30s);
  EXPECT_THAT(f.deletions, ElementsAre("low"));
  EXPECT_NE(f.nodeOf("g-0"), "");
  EXPECT_NE(f.nodeOf("g-1"), "");
  f.expectSound();
}

TEST(GangPreemption, who_uses_up_a_quota_leaves_for_a_member_that_may_preempt) {
  WithQuota f;
  f.within(f.running("low", "10", 0));
  f.create(f.running("elsewhere", "20", 0));
  f.run();
  f.gang("g", 2);
  auto never = f.member("g-0", "g", "5").priority(1000);
  never.object().spec.preemptionPolicy = "Never";
  f.within(f.member("g-1", "g", "5").priority(1000));
  f.within(never);
  f.run(60s);
  EXPECT_THAT(f.deletions, ElementsAre("low"));
  EXPECT_NE(f.nodeOf("g-0"), "");
  EXPECT_NE(f.nodeOf("g-1"), "");
}

// A plan does not call extenders, so it finds nodes that the gang cannot use.
TEST(GangPreemption, promises_that_a_gang_cannot_use_end) {
  ServerFixture f(json::object{{"enablePreemption", true}});
  const auto extended = parseConfiguration(R"(
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
extenders: [{urlPrefix: 'http://host/', filterVerb: filter, nodeCacheCapable: true,
             managedResources: [{name: example.com/thing}]}]
)");
  ASSERT_TRUE(extended) << extended.error().message;
  f.configuration_.extenders = extended->extenders;
  f.network.listen([](net::ServerRequest, std::shared_ptr<net::Responder> responder) {
    responder->respond(200, {{"Content-Type", "application/json"}},
                       std::string(R"({"NodeNames": [], "FailedNodes": {"n1": "busy"}})"));
  });
  f.restart();
  f.node(aNode("n1").allocatable("cpu", "4").allocatable("example.com/thing", "10"));
  f.create(f.running("low", "1", 0));
  f.run();
  f.gang("g", 2);
  for (const char* name : {"g-0", "g-1"})
    f.create(f.member(name, "g").priority(9).request("example.com/thing", "1"));
  f.run(60s);
  EXPECT_EQ(f.nodeOf("g-0"), "");
  f.create(aPod("equal").request("cpu", "3").priority(9));
  f.run(60s);
  EXPECT_EQ(f.nodeOf("equal"), "n1");
  EXPECT_THAT(f.deletions, IsEmpty());
}

TEST(GangPreemption, a_gang_that_its_quota_refuses_is_promised_nothing) {
  WithQuota f;
  f.within(f.running("equal", "10", 1000));
  f.create(f.running("low", "1", 0));
  f.run();
  f.gang("g", 2);
  for (const char* name : {"g-0", "g-1"}) f.within(f.member(name, "g", "5").priority(1000));
  f.run(10s);
  f.create(aPod("large").request("cpu", "32").priority(0));
  f.run(10s);
  EXPECT_EQ(f.nodeOf("large"), "n2");
  EXPECT_THAT(f.deletions, IsEmpty());
}

}  // namespace
}  // namespace koord::scheduler
