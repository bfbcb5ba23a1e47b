#include "scheduler/plugins/podtopologyspread/plugin.h"

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

const std::string kSkew = "Unschedulable: node(s) didn't match pod topology spread constraints";
const std::string kMissing =
    "UnschedulableAndUnresolvable: node(s) didn't match pod topology spread constraints (missing "
    "required label)";

// Zones z1, z2, z3 with one node each: n1, n2, n3.
struct SpreadTest : ::testing::Test {
  World world;
  PodTopologySpread* plugin = nullptr;
  int pods = 0;

  SpreadTest() {
    use({});
    for (int n = 1; n <= 3; ++n) node(n);
  }
  testing::NodeBuilder builder(int n) {
    return aNode("n" + std::to_string(n))
        .label("kubernetes.io/hostname", "n" + std::to_string(n))
        .label("zone", "z" + std::to_string(n));
  }
  void node(int n) { world.node(builder(n)); }
  void use(PodTopologySpreadArgs args) {
    plugin = &dynamic_cast<PodTopologySpread&>(
        world.only(std::make_unique<PodTopologySpread>(world, args)));
  }
  void running(const std::string& node, int count, const std::string& namespace_ = "default") {
    while (count-- > 0)
      world.bound(aPod("e" + std::to_string(pods++), namespace_).label("app", "a").nodeName(node));
  }
  static PodBuilder spread(int maxSkew = 1) {
    return aPod("p").label("app", "a").spread(maxSkew, "zone", "app", "a");
  }
  Answers filter(const PodBuilder& pod) { return world.filter(world.pod(pod)); }
  Scores scores(const PodBuilder& pod) { return world.scores(world.pod(pod)); }
};

TEST_F(SpreadTest, a_domain_may_have_maxSkew_more_pods_than_the_emptiest) {
  running("n1", 2);
  running("n2", 1);
  EXPECT_EQ(filter(spread()), (Answers{{"n1", kSkew}, {"n2", kSkew}, {"n3", ""}}));
  EXPECT_EQ(filter(spread(2)), (Answers{{"n1", kSkew}, {"n2", ""}, {"n3", ""}}));
  EXPECT_EQ(filter(spread(3)), (Answers{{"n1", ""}, {"n2", ""}, {"n3", ""}}));
}

TEST_F(SpreadTest, too_few_domains_count_as_if_there_were_an_empty_one) {
  for (const char* name : {"n1", "n2", "n3"}) running(name, 1);
  EXPECT_EQ(filter(spread())["n1"], "");
  PodBuilder pod = spread();
  pod.object().spec.topologySpreadConstraints[0].minDomains = 5;
  EXPECT_EQ(filter(pod), (Answers{{"n1", kSkew}, {"n2", kSkew}, {"n3", kSkew}}));
}

TEST_F(SpreadTest, a_pod_that_its_own_selector_does_not_match_adds_nothing) {
  running("n1", 1);
  EXPECT_EQ(filter(aPod("p").spread(1, "zone", "app", "a"))["n1"], "");
  EXPECT_EQ(filter(spread())["n1"], kSkew);
}

TEST_F(SpreadTest, nodes_without_one_of_the_labels_take_no_part) {
  world.node(aNode("n4").label("zone", "z4"));
  PodBuilder pod = spread().spread(1, "kubernetes.io/hostname", "app", "a");
  running("n4", 3);
  running("n1", 1);
  EXPECT_EQ(filter(pod), (Answers{{"n1", kSkew}, {"n2", ""}, {"n3", ""}, {"n4", kMissing}}));
}

TEST_F(SpreadTest, a_missing_label_is_told_from_too_much_skew) {
  world.node(aNode("n4"));
  EXPECT_EQ(filter(spread())["n4"], kMissing);
}

TEST_F(SpreadTest, pods_that_are_leaving_or_in_other_namespaces_are_not_counted) {
  running("n1", 1, "other");
  PodBuilder leaving = aPod("l").label("app", "a").nodeName("n1");
  leaving.object().metadata.deletionTimestamp = WallTime{};
  world.bound(leaving);
  EXPECT_EQ(filter(spread())["n1"], "");
  running("n1", 1);
  EXPECT_EQ(filter(spread())["n1"], kSkew);
}

TEST_F(SpreadTest, policies_say_which_nodes_take_part) {
  world.node(builder(3).taint("t"));
  running("n1", 1);
  PodBuilder pod = spread();
  EXPECT_EQ(filter(pod)["n1"], kSkew);
  pod.object().spec.topologySpreadConstraints[0].nodeTaintsPolicy = "Honor";
  EXPECT_EQ(filter(pod)["n1"], kSkew) << "z2 is empty";
  running("n2", 1);
  EXPECT_EQ(filter(pod)["n1"], "") << "z3 does not count";
  pod.toleration("t");
  EXPECT_EQ(filter(pod)["n1"], kSkew);

  PodBuilder pinned = spread().nodeSelector("zone", "z1");
  EXPECT_EQ(filter(pinned)["n1"], "");
  pinned.object().spec.topologySpreadConstraints[0].nodeAffinityPolicy = "Ignore";
  EXPECT_EQ(filter(pinned)["n1"], kSkew);
}

TEST_F(SpreadTest, matchLabelKeys_narrow_the_selector_to_the_pods_own_values) {
  running("n1", 2);
  PodBuilder pod = spread().label("hash", "1");
  pod.object().spec.topologySpreadConstraints[0].matchLabelKeys = {"hash", "absent"};
  EXPECT_EQ(filter(pod)["n1"], "");
  EXPECT_EQ(filter(spread())["n1"], kSkew);
}

TEST_F(SpreadTest, an_empty_selector_counts_no_pods) {
  running("n1", 5);
  PodBuilder pod = spread();
  pod.object().spec.topologySpreadConstraints[0].labelSelector = api::LabelSelector{};
  EXPECT_EQ(filter(pod)["n1"], "");
}

TEST_F(SpreadTest, what_if_changes_are_seen) {
  running("n1", 1);
  const PodPtr pod = world.pod(spread());
  EXPECT_EQ(world.filter(pod)["n1"], kSkew);
  Cluster::Transaction whatIf(world.cluster());
  world.cluster().removePod("uid-default-e0");
  EXPECT_EQ(world.filter(pod)["n1"], "");
}

PodBuilder soft(int maxSkew = 1) {
  return aPod("p").label("app", "a").spread(maxSkew, "zone", "app", "a", "ScheduleAnyway");
}

TEST_F(SpreadTest, fuller_domains_score_lower) {
  running("n2", 2);
  running("n3", 3);
  EXPECT_EQ(scores(soft()), (Scores{{"n1", 100}, {"n2", 40}, {"n3", 0}}));
}

TEST_F(SpreadTest, a_larger_maxSkew_makes_differences_smaller) {
  world.cluster().removeNode("n3");
  running("n1", 4);
  running("n2", 1);
  EXPECT_EQ(scores(soft()), (Scores{{"n1", 16}, {"n2", 100}}));
  EXPECT_EQ(scores(soft(3)), (Scores{{"n1", 37}, {"n2", 100}}));
}

TEST_F(SpreadTest, nodes_without_the_label_score_nothing) {
  world.node(aNode("n4"));
  EXPECT_EQ(scores(soft()), (Scores{{"n1", 100}, {"n2", 100}, {"n3", 100}, {"n4", 0}}));
}

TEST_F(SpreadTest, a_pod_of_a_service_is_spread_over_hosts_and_zones_by_default) {
  World other;
  other.only(std::make_unique<PodTopologySpread>(other, PodTopologySpreadArgs{}));
  const char* zones[] = {"z1", "z1", "z2", "z2", "z3", "z3"};
  const int onHost[] = {2, 1, 0, 1, 0, 0};
  int serial = 0;
  for (int n = 0; n < 6; ++n) {
    const std::string name = "n" + std::to_string(n);
    other.node(aNode(name)
                   .label("kubernetes.io/hostname", name)
                   .label("topology.kubernetes.io/zone", zones[n]));
    for (int k = 0; k < onHost[n]; ++k)
      other.bound(aPod("e" + std::to_string(serial++)).label("app", "a").nodeName(name));
  }
  const PodPtr pod = other.pod(aPod("p").label("app", "a").label("more", "x"));
  EXPECT_EQ(other.scores(pod)["n0"], 0) << "nothing selects it";
  api::Service service;
  service.metadata.name = "s";
  service.metadata.namespace_ = "default";
  service.spec.selector["app"] = "a";
  other.stores().of<api::Service>().set(std::make_shared<const api::Service>(service));
  EXPECT_EQ(other.scores(pod),
            (Scores{{"n0", 40}, {"n1", 53}, {"n2", 86}, {"n3", 73}, {"n4", 100}, {"n5", 100}}));
  other.stores().of<api::Service>().erase({"default", "s"});
  EXPECT_EQ(other.scores(pod)["n0"], 0);
}

TEST_F(SpreadTest, the_owner_of_a_pod_selects_for_default_constraints_too) {
  PodTopologySpreadArgs args;
  args.defaulting = SpreadDefaulting::List;
  args.constraints.push_back(spread().object().spec.topologySpreadConstraints[0]);
  use(args);
  running("n1", 1);
  PodBuilder pod = aPod("p").label("app", "a");
  pod.object().metadata.ownerReferences.push_back({"apps/v1", "ReplicaSet", "r", "u", true, false});
  EXPECT_EQ(filter(pod)["n1"], "");
  api::ReplicaSetSelection set;
  set.metadata.name = "r";
  set.metadata.namespace_ = "default";
  set.spec.selector.emplace().matchLabels["app"] = "a";
  world.stores().of<api::ReplicaSetSelection>().set(
      std::make_shared<const api::ReplicaSetSelection>(set));
  EXPECT_EQ(filter(pod)["n1"], kSkew);
}

TEST_F(SpreadTest, a_selector_that_cannot_be_read_is_an_error) {
  PodBuilder pod = spread();
  pod.object().spec.topologySpreadConstraints[0].labelSelector->matchExpressions.push_back(
      {"a", "Like", {}});
  EXPECT_THAT(filter(pod)["n1"],
              ::testing::HasSubstr("obtaining pod's hard topology spread constraints: "));
}

TEST_F(SpreadTest, waiting_pods_are_woken_by_what_shifts_their_counts) {
  const auto registrations = plugin->eventsToRegister();
  const auto pod = world.pod(spread());
  const auto onPod = [&](const PodPtr& before, const PodPtr& after) {
    ClusterEvent event;
    event.oldPod = before;
    event.newPod = after;
    return registrations[0].hint(*pod, event) == Hint::Queue;
  };
  const auto onNode = [&](const std::shared_ptr<const api::Node>& before,
                          const std::shared_ptr<const api::Node>& after, Actions actions) {
    ClusterEvent event;
    event.oldNode = before;
    event.newNode = after;
    event.actions = actions;
    return registrations[1].hint(*pod, event) == Hint::Queue;
  };
  const auto counted = world.pod(aPod("o").label("app", "a").nodeName("n1"));
  const auto uncounted = world.pod(aPod("o").label("app", "b").nodeName("n1"));
  EXPECT_TRUE(onPod(counted, nullptr));
  EXPECT_TRUE(onPod(nullptr, counted));
  EXPECT_TRUE(onPod(counted, uncounted));
  EXPECT_FALSE(onPod(nullptr, uncounted));
  EXPECT_FALSE(onPod(nullptr, world.pod(aPod("o", "other").label("app", "a").nodeName("n1"))));
  EXPECT_FALSE(onPod(nullptr, world.pod(aPod("o").label("app", "a"))));
  EXPECT_TRUE(onPod(pod, world.pod(spread().label("app", "b"))));  // the pod itself
  EXPECT_FALSE(onPod(pod, world.pod(spread().label("tier", "x"))));
  EXPECT_TRUE(onNode(nullptr, builder(4).build(), action::kAdd));
  EXPECT_TRUE(onNode(builder(4).build(), nullptr, action::kDelete));
  EXPECT_FALSE(onNode(nullptr, aNode("n4").build(), action::kAdd));
  EXPECT_TRUE(onNode(builder(4).build(), aNode("n4").build(), action::kUpdateNodeLabel));
  EXPECT_TRUE(
      onNode(builder(4).build(), builder(4).label("zone", "z1").build(), action::kUpdateNodeLabel));
  EXPECT_FALSE(onNode(builder(4).build(), builder(4).label("disk", "ssd").build(),
                      action::kUpdateNodeLabel));
  EXPECT_TRUE(onNode(builder(4).taint("t").build(), builder(4).build(), action::kUpdateNodeTaint));
}

}  // namespace
}  // namespace koord::scheduler
