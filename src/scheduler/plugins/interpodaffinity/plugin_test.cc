#include "scheduler/plugins/interpodaffinity/plugin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/testing/world.h"

namespace koord::scheduler {
namespace {

using testing::aNode;
using testing::aPod;
using testing::PodBuilder;
using testing::World;
using Answers = std::map<std::string, std::string>;
using Scores = std::map<std::string, std::int64_t>;

const std::string kFar = "UnschedulableAndUnresolvable: node(s) didn't match pod affinity rules";
const std::string kNear = "Unschedulable: node(s) didn't match pod anti-affinity rules";
const std::string kUnwanted =
    "Unschedulable: node(s) didn't satisfy existing pods anti-affinity rules";

// n1 and n2 in zone z1, n3 in z2, n4 in no zone.
struct AffinityTest : ::testing::Test {
  World world;
  InterPodAffinity* plugin = nullptr;

  AffinityTest() {
    use({});
    for (const auto& [name, zone] : {std::pair{"n1", "z1"}, {"n2", "z1"}, {"n3", "z2"}})
      world.node(aNode(name).label("host", name).label("zone", zone));
    world.node(aNode("n4").label("host", "n4"));
  }
  void use(InterPodAffinityArgs args) {
    plugin = &dynamic_cast<InterPodAffinity&>(
        world.only(std::make_unique<InterPodAffinity>(world, args)));
  }
  void running(const std::string& name, const std::string& app, const std::string& node,
               const std::string& namespace_ = "default") {
    world.bound(aPod(name, namespace_).label("app", app).nodeName(node));
  }
  Answers filter(const PodBuilder& pod) { return world.filter(world.pod(pod)); }
  Scores scores(const PodBuilder& pod) { return world.scores(world.pod(pod)); }
};

TEST_F(AffinityTest, affinity_needs_a_pod_that_matches_every_term_in_the_topology_of_each) {
  running("e1", "web", "n1");
  world.bound(aPod("e2").label("app", "web").label("tier", "a").nodeName("n3"));
  const PodBuilder pod = aPod("p").near("zone", "app", "web").near("host", "tier", "a");
  EXPECT_EQ(filter(pod), (Answers{{"n1", kFar}, {"n2", kFar}, {"n3", ""}, {"n4", kFar}}));
}

TEST_F(AffinityTest, the_first_pod_of_a_group_may_start_anywhere_with_the_label) {
  EXPECT_EQ(filter(aPod("p").label("app", "web").near("zone", "app", "web")),
            (Answers{{"n1", ""}, {"n2", ""}, {"n3", ""}, {"n4", kFar}}));
  EXPECT_EQ(filter(aPod("q").near("zone", "app", "web"))["n1"], kFar)
      << "it is not of the group itself";
}

TEST_F(AffinityTest, anti_affinity_keeps_out_of_the_whole_topology_domain) {
  running("e", "web", "n1");
  EXPECT_EQ(filter(aPod("p").apart("zone", "app", "web")),
            (Answers{{"n1", kNear}, {"n2", kNear}, {"n3", ""}, {"n4", ""}}));
  EXPECT_EQ(filter(aPod("p").apart("host", "app", "web")),
            (Answers{{"n1", kNear}, {"n2", ""}, {"n3", ""}, {"n4", ""}}));
}

TEST_F(AffinityTest, running_pods_keep_away_what_their_anti_affinity_selects) {
  world.bound(aPod("e").apart("zone", "app", "web").nodeName("n2"));
  EXPECT_EQ(filter(aPod("p").label("app", "web")),
            (Answers{{"n1", kUnwanted}, {"n2", kUnwanted}, {"n3", ""}, {"n4", ""}}));
  EXPECT_EQ(filter(aPod("p").label("app", "db"))["n1"], "");
}

TEST_F(AffinityTest, what_pods_come_and_go_is_seen_at_once) {
  const PodBuilder pod = aPod("p").apart("zone", "app", "web");
  EXPECT_EQ(filter(pod)["n1"], "");
  const PodPtr other = world.bound(aPod("e").label("app", "web").nodeName("n1"));
  EXPECT_EQ(filter(pod)["n2"], kNear);
  {
    Cluster::Transaction whatIf(world.cluster());
    world.cluster().removePod(other->uid());
    EXPECT_EQ(filter(pod)["n2"], "");
  }
  EXPECT_EQ(filter(pod)["n2"], kNear);
  world.node(aNode("n2").label("host", "n2").label("zone", "z9"));
  EXPECT_EQ(filter(pod)["n2"], "");
  world.cluster().removePod(other->uid());
  EXPECT_EQ(filter(pod)["n1"], "");
}

TEST_F(AffinityTest, a_term_is_about_its_own_namespace_those_listed_and_those_selected) {
  for (const auto& [name, team] : {std::pair{"default", "x"}, {"other", "y"}}) {
    api::Namespace object;
    object.metadata.name = name;
    object.metadata.labels["team"] = team;
    world.stores().of<api::Namespace>().set(std::make_shared<const api::Namespace>(object));
  }
  running("e", "web", "n1", "other");
  auto term = PodBuilder::podTerm("host", "app", "web");
  EXPECT_EQ(filter(aPod("p").apart(term))["n1"], "");
  term.namespaces = {"other"};
  EXPECT_EQ(filter(aPod("p").apart(term))["n1"], kNear);
  term.namespaces = {};
  term.namespaceSelector.emplace();
  EXPECT_EQ(filter(aPod("p").apart(term))["n1"], kNear)
      << "an empty selector is about all namespaces";
  term.namespaceSelector->matchLabels["team"] = "x";
  EXPECT_EQ(filter(aPod("p").apart(term))["n1"], "");
  api::Namespace moved;
  moved.metadata.name = "other";
  moved.metadata.labels["team"] = "x";
  world.stores().of<api::Namespace>().set(std::make_shared<const api::Namespace>(moved));
  EXPECT_EQ(filter(aPod("p").apart(term))["n1"], kNear);
}

TEST_F(AffinityTest, a_selector_that_cannot_be_read_rejects_the_pod_everywhere) {
  auto term = PodBuilder::podTerm("host", "app", "web");
  term.labelSelector->matchExpressions.push_back({"app", "Near", {}});
  EXPECT_THAT(
      filter(aPod("p").near(term))["n1"],
      ::testing::StartsWith("UnschedulableAndUnresolvable: parsing pod: requiredAffinityTerms: "));
}

TEST_F(AffinityTest, preferences_of_the_pod_and_of_running_pods_add_up_per_domain) {
  running("e1", "web", "n1");
  running("e2", "web", "n3");
  running("e3", "db", "n3");
  // z1: 10; z2: 10 - 40; no zone: 0.
  EXPECT_EQ(scores(aPod("p").near("zone", "app", "web", 10).apart("zone", "app", "db", 40)),
            (Scores{{"n1", 100}, {"n2", 100}, {"n3", 0}, {"n4", 75}}));
  world.bound(aPod("e4").near("host", "app", "cache", 5).nodeName("n4"));
  world.bound(aPod("e5").near("host", "app", "cache").nodeName("n2"));
  EXPECT_EQ(scores(aPod("p").label("app", "cache")),
            (Scores{{"n1", 0}, {"n2", 20}, {"n3", 0}, {"n4", 100}}));
}

TEST_F(AffinityTest, preferences_of_running_pods_can_be_left_out_for_pods_without_any) {
  world.bound(aPod("e").near("host", "app", "cache", 5).nodeName("n4"));
  const PodBuilder pod = aPod("p").label("app", "cache");
  EXPECT_EQ(scores(pod)["n4"], 100);
  use({1, true});
  EXPECT_EQ(scores(pod)["n4"], 0);
  EXPECT_EQ(scores(aPod("q").label("app", "cache").near("zone", "app", "web", 1))["n4"], 100)
      << "they count for a pod that has preferences itself";
}

TEST_F(AffinityTest, required_affinity_of_running_pods_weighs_as_configured) {
  world.bound(aPod("e1").near("host", "app", "cache").nodeName("n2"));
  world.bound(aPod("e2").near("host", "app", "cache", 5).nodeName("n4"));
  const PodBuilder pod = aPod("p").label("app", "cache");
  use({10, false});
  EXPECT_EQ(scores(pod), (Scores{{"n1", 0}, {"n2", 100}, {"n3", 0}, {"n4", 50}}));
  use({0, false});
  EXPECT_EQ(scores(pod), (Scores{{"n1", 0}, {"n2", 0}, {"n3", 0}, {"n4", 100}}));
}

TEST_F(AffinityTest, a_pod_that_nothing_is_said_about_is_skipped) {
  world.bound(aPod("e").apart("zone", "app", "web").near("host", "app", "web", 3).nodeName("n2"));
  CycleState state;
  EXPECT_EQ(plugin->preFilter(state, *world.pod(aPod("p").label("app", "db"))).status.code,
            Code::Skip);
  EXPECT_TRUE(plugin->willSkipScore(*world.pod(aPod("p").label("app", "db"))));
  EXPECT_FALSE(plugin->willSkipScore(*world.pod(aPod("p").label("app", "web"))));
}

struct Event {
  PodPtr before, after;
  std::shared_ptr<const api::Node> nodeBefore, nodeAfter;
};

TEST_F(AffinityTest, waiting_pods_are_woken_by_what_may_help_them) {
  const auto registrations = plugin->eventsToRegister();
  const auto wakes = [&](const PodBuilder& pod, bool node, const Event& what) {
    ClusterEvent event;
    event.oldPod = what.before;
    event.newPod = what.after;
    event.oldNode = what.nodeBefore;
    event.newNode = what.nodeAfter;
    return registrations[node ? 1 : 0].hint(*world.pod(pod), event) == Hint::Queue;
  };
  const auto web = world.pod(aPod("w").label("app", "web").nodeName("n1"));
  const auto db = world.pod(aPod("w").label("app", "db").nodeName("n1"));
  const PodBuilder wantsWeb = aPod("p").near("zone", "app", "web");
  const PodBuilder avoidsWeb = aPod("p").apart("zone", "app", "web").apart("zone", "app", "other");
  EXPECT_TRUE(wakes(wantsWeb, false, {nullptr, web}));
  EXPECT_FALSE(wakes(wantsWeb, false, {nullptr, db}));
  EXPECT_FALSE(wakes(wantsWeb, false, {nullptr, world.pod(aPod("w").label("app", "web"))}))
      << "it has no node";
  EXPECT_TRUE(wakes(wantsWeb, false, {db, web}));
  EXPECT_FALSE(wakes(wantsWeb, false, {web, db}));
  EXPECT_TRUE(wakes(avoidsWeb, false, {web, db}));
  EXPECT_TRUE(wakes(avoidsWeb, false, {web, nullptr}));
  EXPECT_FALSE(wakes(avoidsWeb, false, {db, nullptr}));
  EXPECT_TRUE(wakes(aPod("p").label("app", "web"), false,
                    {world.pod(aPod("w").apart("zone", "app", "web").nodeName("n1")), nullptr}));
  const PodBuilder webToo = aPod("p").label("app", "web").near("zone", "app", "web");
  EXPECT_TRUE(wakes(webToo, false, {web, nullptr})) << "it may be the first of its group now";
  EXPECT_TRUE(wakes(webToo, false, {web, db}));
  EXPECT_FALSE(wakes(webToo, false, {web, web}));
  EXPECT_FALSE(wakes(wantsWeb, false, {web, nullptr})) << "it is not of the group itself";
  const auto plain = aNode("n9").build();
  const auto zoned = aNode("n9").label("zone", "z1").build();
  EXPECT_TRUE(wakes(wantsWeb, true, {{}, {}, nullptr, zoned}));
  EXPECT_FALSE(wakes(wantsWeb, true, {{}, {}, nullptr, plain}));
  EXPECT_TRUE(wakes(wantsWeb, true, {{}, {}, plain, zoned}));
  EXPECT_FALSE(wakes(wantsWeb, true, {{}, {}, zoned, zoned}));
  EXPECT_TRUE(wakes(avoidsWeb, true, {{}, {}, nullptr, plain}));
  EXPECT_TRUE(wakes(avoidsWeb, true, {{}, {}, zoned, plain}));
}

}  // namespace
}  // namespace koord::scheduler
