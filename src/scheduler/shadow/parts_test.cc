// Tests of the parts of a shadow; whole shadows are in shadow_test.cc.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/virtual_loop.h"
#include "kube/fake_api.h"
#include "scheduler/shadow/shadow.h"
#include "scheduler/testing/world.h"

namespace koord::scheduler {
namespace {

using namespace std::chrono_literals;
using testing::aNode;
using testing::aPod;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Pair;
using Kind = Choice::Kind;

Choice placed(std::string node) {
  return {.kind = Kind::Place, .node = std::move(node)};
}
Choice preempting(std::string node) {
  return {.kind = Kind::Preempt, .node = std::move(node)};
}

TEST(Choice, two_choices_are_the_same_if_outcome_and_node_are) {
  EXPECT_TRUE(isSame(placed("a"), placed("a"), false));
  EXPECT_FALSE(isSame(placed("a"), placed("b"), false));
  EXPECT_FALSE(isSame(placed("a"), preempting("a"), false));
  EXPECT_TRUE(isSame({.message = "no cpu"}, {.message = "no memory"}, false));
  EXPECT_FALSE(isSame(preempting("a"), preempting("b"), false));
}

TEST(Choice, members_of_a_group_preempt_on_any_node_and_are_placed_on_one) {
  EXPECT_TRUE(isSame(preempting("a"), preempting("b"), true));
  EXPECT_FALSE(isSame(placed("a"), placed("b"), true));
}

TEST(Choice, each_difference_has_a_name) {
  EXPECT_EQ(differenceOf(placed("a"), placed("b"), true), Match::WorseScore);
  EXPECT_EQ(differenceOf(placed("a"), placed("b"), false), Match::NotFeasible);
  EXPECT_EQ(differenceOf(placed("a"), {}, false), Match::OnlyIncumbentPlaces);
  EXPECT_EQ(differenceOf({}, placed("b"), false), Match::OnlyShadowPlaces);
  EXPECT_EQ(differenceOf(preempting("a"), placed("b"), false), Match::OnlyShadowPlaces);
  EXPECT_EQ(differenceOf(preempting("a"), preempting("b"), false), Match::OtherPreemption);
  EXPECT_EQ(differenceOf(preempting("a"), {}, false), Match::OnlyIncumbentPreempts);
  EXPECT_EQ(differenceOf({}, preempting("b"), false), Match::OnlyShadowPreempts);
  EXPECT_EQ(differenceOf({}, {.kind = Kind::Fail}, false), Match::ShadowFailed);
  std::set<std::string_view> names;
  for (const Match match : kMatches) names.insert(nameOf(match));
  EXPECT_EQ(names.size(), std::size(kMatches));
}

TEST(ReadOnlyApi, passes_reads_and_reviews_and_refuses_every_write) {
  VirtualLoop loop;
  kube::FakeApi inner(loop);
  inner.answer = [](const kube::Request&) { return Result<std::string>("{}"); };
  ReadOnlyApi api(inner);
  int passed = 0, refused = 0;
  TaskGroup tasks;
  const auto call = [&](kube::Verb verb, std::string group, std::string resource,
                        std::string subresource = "") {
    struct Ask {
      static Task<void> run(ReadOnlyApi* api, kube::Request request, int* passed, int* refused) {
        auto calling = api->call(std::move(request));
        const auto answer = co_await calling;
        ++(answer ? *passed : *refused);
      }
    };
    kube::Request request{.verb = verb, .group = std::move(group), .resource = std::move(resource)};
    request.subresource = std::move(subresource);
    tasks.spawn(Ask::run(&api, std::move(request), &passed, &refused));
  };
  call(kube::Verb::Get, "", "pods");
  call(kube::Verb::List, "", "nodes");
  call(kube::Verb::Create, "authentication.k8s.io", "tokenreviews");
  call(kube::Verb::Create, "authorization.k8s.io", "subjectaccessreviews");
  call(kube::Verb::Create, "", "pods", "binding");
  call(kube::Verb::Patch, "", "pods", "status");
  call(kube::Verb::Create, "events.k8s.io", "events");
  call(kube::Verb::Create, "events.k8s.io", "events");
  call(kube::Verb::Update, "coordination.k8s.io", "leases");
  call(kube::Verb::Delete, "", "pods");
  call(kube::Verb::DeleteCollection, "", "pods");
  call(kube::Verb::Create, "", "tokenreviews");  // of another group: an object
  loop.advance(1s);
  EXPECT_EQ(passed, 4);
  EXPECT_EQ(refused, 8);
  EXPECT_EQ(inner.calls.size(), 4u) << "the server receives no write";
  EXPECT_THAT(api.refused(), ElementsAre(Pair("create events", 2), Pair("create pods/binding", 1),
                                         Pair("create tokenreviews", 1), Pair("delete pods", 1),
                                         Pair("deletecollection pods", 1),
                                         Pair("patch pods/status", 1), Pair("update leases", 1)));
}

TEST(WorkBudget, refuses_work_above_its_share_of_the_time) {
  SteadyTime now{};
  WorkBudget budget(20, now);
  EXPECT_TRUE(budget.mayWork(now));
  budget.spend(150ms);
  EXPECT_TRUE(budget.mayWork(now)) << "a second's share is there at the beginning";
  budget.spend(250ms);
  EXPECT_FALSE(budget.mayWork(now));
  EXPECT_FALSE(budget.mayWork(now += 500ms)) << "200 ms are overdrawn, which takes a second";
  EXPECT_TRUE(budget.mayWork(now += 600ms));
  budget.mayWork(now += 1h);
  budget.spend(201ms);
  EXPECT_FALSE(budget.mayWork(now)) << "more than a second's share is never saved up";
}

TEST(Footprint, says_what_a_placement_leaves_for_large_pods_and_how_even_the_load_is) {
  testing::World w;
  const NodeId a = w.node(aNode("a").allocatable("cpu", "10").allocatable("nvidia.com/gpu", "8"));
  const NodeId b = w.node(aNode("b").allocatable("cpu", "10").allocatable("nvidia.com/gpu", "8"));
  w.bound(aPod("runs").request("cpu", "4").request("nvidia.com/gpu", "3").nodeName("a"));
  const PodPtr pod = w.pod(aPod("p").request("cpu", "4").request("nvidia.com/gpu", "1"));
  const Footprint packed = footprintOf(w.cluster(), *pod, a);
  EXPECT_EQ(packed.largestFreeCpu, 10'000);
  EXPECT_EQ(packed.largestFreeGpus, 8);
  EXPECT_EQ(packed.wholeFreeGpus, 12);
  EXPECT_DOUBLE_EQ(packed.spread, 40);  // 80 % and 0 %
  const Footprint even = footprintOf(w.cluster(), *pod, b);
  EXPECT_EQ(even.largestFreeCpu, 6'000);
  EXPECT_EQ(even.largestFreeGpus, 7);
  EXPECT_DOUBLE_EQ(even.spread, 0);
}

TEST(Footprint, counts_whole_gpus_where_they_are_shared) {
  testing::World w;
  const NodeId a = w.node(aNode("a").allocatable("koordinator.sh/gpu-core", "200"));
  const NodeId b = w.node(aNode("b").allocatable("koordinator.sh/gpu-core", "200"));
  w.bound(aPod("half").request("koordinator.sh/gpu-core", "50").nodeName("a"));
  const PodPtr pod = w.pod(aPod("p").request("koordinator.sh/gpu-core", "50"));
  EXPECT_EQ(footprintOf(w.cluster(), *pod, a).wholeFreeGpus, 3);
  EXPECT_EQ(footprintOf(w.cluster(), *pod, b).wholeFreeGpus, 2);
}

struct ChangingCluster {
  testing::World w;
  NodeId a = w.node(aNode("a"));
  SteadyTime start{};
  RecentChanges changes{w.cluster(), w.nominator(), 2s};
  std::vector<std::string> states;

  PodPtr binds(const char* name, RecentChanges::Place place, int priority = 0) {
    const PodPtr pod = w.pod(aPod(name).priority(priority));
    changes.bound(pod, place, start);
    w.bound(aPod(name).priority(priority).nodeName("a"));
    return pod;
  }
  // The pods on the node and the nominated ones of each state, until one has this text.
  bool find(const std::string& wanted = "none", SteadyTime since = {}) {
    states.clear();
    return changes.anyState({"asked", {0, 5}, since}, [&] {
      states.push_back(state());
      return states.back() == wanted;
    });
  }
  std::string state() {
    std::set<std::string> names;
    for (const PodPtr& pod : w.cluster().node(a).pods) names.insert(pod->pod->metadata.name);
    if (const auto* nominated = w.nominator().on("a"))
      for (const PodPtr& pod : *nominated) names.insert("nominated-" + pod->pod->metadata.name);
    return fmt::format("{}", fmt::join(names, " "));
  }
};

TEST(RecentChanges, reverts_ends_and_the_bindings_of_pods_that_come_later) {
  ChangingCluster c;
  c.binds("early", {0, 1});
  c.binds("late", {0, 9});
  const PodPtr gone = c.w.bound(aPod("gone").nodeName("a"));
  c.changes.ended(*c.w.cluster().findPod(gone->uid()), c.start);
  c.w.cluster().removePod(gone->uid());
  c.binds("low", {-1, 2}, -1);

  EXPECT_FALSE(c.find());
  EXPECT_THAT(c.states, ElementsAre("early late", "early gone late", "early gone",  // step by step
                                    "early low", "early gone low",                  // without late
                                    "early", "early gone"));  // without low, too
  EXPECT_EQ(c.state(), "early late low") << "all of it is reverted";
  EXPECT_TRUE(c.find("early gone late"));
  EXPECT_EQ(c.state(), "early late low");
  EXPECT_FALSE(c.find("none", c.start + 1s));
  EXPECT_THAT(c.states, ElementsAre()) << "nothing has changed since then";
}

// It came when the pod had left the queue, and was bound faster.
TEST(RecentChanges, reverts_the_binding_of_a_pod_of_higher_priority_that_came_later) {
  ChangingCluster c;
  c.binds("above-and-earlier", {9, 1}, 9);
  c.binds("above-and-later", {9, 6}, 9);
  c.binds("later", {0, 7});
  EXPECT_TRUE(c.find("above-and-earlier"));
  EXPECT_TRUE(c.find("above-and-earlier above-and-later"));
  EXPECT_FALSE(c.find("above-and-later"));
  EXPECT_EQ(c.state(), "above-and-earlier above-and-later later");
}

// The binding of the first of two pods may show after the end of a victim of the second.
TEST(RecentChanges, keeps_a_binding_of_unknown_order_and_reverts_an_end_before_it) {
  ChangingCluster c;
  const PodPtr victim = c.w.bound(aPod("victim").nodeName("a"));
  c.changes.ended(*c.w.cluster().findPod(victim->uid()), c.start);
  c.w.cluster().removePod(victim->uid());
  c.binds("above-and-later", {9, 6}, 9);
  c.binds("later", {0, 7});
  EXPECT_TRUE(c.find("above-and-later victim"));
}

TEST(RecentChanges, restores_nominations) {
  ChangingCluster c;
  const PodPtr waiting = c.w.pod(aPod("waiting"));
  c.changes.nominated(waiting, c.start);
  c.w.nominator().add(waiting, {true, "a"});
  const PodPtr bound = c.w.pod(aPod("bound"));
  c.w.nominator().add(bound, {true, "a"});
  c.changes.bound(bound, {0, 6}, c.start);
  c.w.nominator().remove(bound->uid());
  c.w.bound(aPod("bound").nodeName("a"));
  EXPECT_FALSE(c.find());
  EXPECT_THAT(c.states, Contains("nominated-bound nominated-waiting"));
  EXPECT_THAT(c.states, Contains("nominated-bound"));
  EXPECT_EQ(c.state(), "bound nominated-waiting");
}

TEST(RecentChanges, is_bounded) {
  ChangingCluster c;
  for (int i = 0; i < 100; ++i) c.binds(fmt::format("p{}", i).c_str(), {0, 9});
  EXPECT_FALSE(c.find());
  EXPECT_GE(c.states.size(), RecentChanges::kMostSteps);
  EXPECT_LE(c.states.size(), 2 * RecentChanges::kMostSteps + 1);
}

TEST(ShadowConfiguration, keeps_the_incumbents_profiles_or_the_first_under_its_name) {
  SchedulerConfiguration given = defaultConfiguration();
  given.profiles.front().schedulerName = "first";
  given.profiles.push_back(given.profiles.front());
  given.profiles.back().schedulerName = "volcano";
  given.profiles.back().path = "profiles[1]";
  given.profiles.back().percentageOfNodesToScore = 5;
  given.percentageOfNodesToScore = 10;
  given.leaderElection.leaderElect = true;
  const auto own = shadowConfiguration(given, "volcano");
  ASSERT_EQ(own.profiles.size(), 2u);
  EXPECT_EQ(own.profiles[0].schedulerName, "first");
  EXPECT_EQ(own.profiles[1].schedulerName, "volcano");
  EXPECT_EQ(own.profiles[1].percentageOfNodesToScore, std::nullopt) << "all nodes are scored";
  EXPECT_EQ(own.percentageOfNodesToScore, 0);
  EXPECT_FALSE(own.leaderElection.leaderElect);
  const auto first = shadowConfiguration(given, "other");
  ASSERT_EQ(first.profiles.size(), 1u);
  EXPECT_EQ(first.profiles[0].path, "profiles[0]");
  EXPECT_EQ(first.profiles[0].schedulerName, "other");
}

}  // namespace
}  // namespace koord::scheduler
