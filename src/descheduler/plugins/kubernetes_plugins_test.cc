#include "descheduler/plugins/cluster_test.h"

namespace koord::descheduler {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

TEST(DefaultEvictorTest, protectsWhatItIsToldTo) {
  Cluster cluster(kTaints,
                  "[{name: DefaultEvictor, args: {priorityThreshold: {value: 100}, "
                  "minReplicas: 2, labelSelector: {matchLabels: {go: 'yes'}}}}]");
  cluster.node("a", "", kTainted);
  cluster.node("b");
  const std::string go = R"("go": "yes")";
  cluster.pod("goes1", {.labels = go, .owner = "two"});
  cluster.pod("goes2", {.labels = go, .owner = "two"});
  cluster.pod("alone", {.labels = go, .owner = "one"});
  cluster.pod("bare", {.labels = go, .owner = ""});
  cluster.pod("other", {.owner = "two"});
  cluster.pod(
      "local",
      {.labels = go, .spec = R"("volumes": [{"name": "v", "emptyDir": {}}])", .owner = "two"});
  cluster.pod("told",
              {.annotations = R"("descheduler.alpha.kubernetes.io/evict": "")", .owner = ""});
  EXPECT_THAT(cluster.cycle(), UnorderedElementsAre("goes1", "goes2", "told"));
}

constexpr const char* kSpread =
    "balance: {enabled: [{name: RemovePodsViolatingTopologySpreadConstraint}]}";

int evictedFrom(const std::vector<int>& sizes, int maxSkew) {
  Cluster cluster(kSpread,
                  "[{name: RemovePodsViolatingTopologySpreadConstraint, args: "
                  "{topologyBalanceNodeFit: false}}]");
  const std::string spec = fmt::format(
      R"("topologySpreadConstraints": [{{"maxSkew": {}, "topologyKey": "zone", "whenUnsatisfiable":
        "DoNotSchedule", "labelSelector": {{"matchLabels": {{"app": "web"}}}}}}])",
      maxSkew);
  for (std::size_t zone = 0; zone < sizes.size(); ++zone) {
    cluster.node(fmt::format("n{}", zone), fmt::format(R"("zone": "z{}")", zone));
    for (int i = 0; i < sizes[zone]; ++i)
      cluster.pod(fmt::format("p{}-{}", zone, i),
                  {.node = fmt::format("n{}", zone), .labels = R"("app": "web")", .spec = spec});
  }
  return static_cast<int>(cluster.cycle().size());
}

TEST(TopologySpreadTest, movesAsManyAsItTakes) {
  EXPECT_EQ(evictedFrom({1, 3, 5}, 1), 2);
  EXPECT_EQ(evictedFrom({0, 1, 3, 5}, 1), 3);
  EXPECT_EQ(evictedFrom({2, 6}, 2), 1);
  EXPECT_EQ(evictedFrom({2, 3, 5, 5, 7, 8}, 1), 5);
  EXPECT_EQ(evictedFrom({2, 2, 3}, 1), 0);
}

TEST(DuplicatesTest, leaveNoNodeMoreThanItsShare) {
  const auto evicted = [](const std::vector<int>& copies) {
    Cluster cluster("balance: {enabled: [{name: RemoveDuplicates}]}");
    for (std::size_t node = 0; node < copies.size(); ++node) {
      cluster.node(fmt::format("n{}", node));
      for (int i = 0; i < copies[node]; ++i)
        cluster.pod(fmt::format("p{}-{}", node, i), {.node = fmt::format("n{}", node)});
    }
    return cluster.cycle().size();
  };
  EXPECT_EQ(evicted({4, 2, 0}), 2U);
  EXPECT_EQ(evicted({3, 0}), 1U);
  EXPECT_EQ(evicted({2, 2}), 0U);
}

TEST(UtilizationTest, movesPodsUntilTheNodeIsAtItsTarget) {
  Cluster cluster("balance: {enabled: [{name: LowNodeUtilization}]}",
                  "[{name: LowNodeUtilization, args: {thresholds: {cpu: 20, memory: 20, pods: 20}, "
                  "targetThresholds: {cpu: 50, memory: 50, pods: 50}}}]");
  for (const char* name : {"n1", "n2", "n3"}) cluster.node(name);
  const std::string requests = R"("cpu": "400m", "memory": "300Mi")";
  for (int i = 0; i < 8; ++i)
    cluster.pod(fmt::format("a{}", i), {.node = "n1", .requests = requests});
  cluster.pod("b", {.node = "n2", .requests = requests});
  for (int i = 0; i < 2; ++i)
    cluster.pod(fmt::format("c{}", i), {.node = "n3", .requests = requests});
  EXPECT_THAT(cluster.cycle(), SizeIs(3));
}

TEST(UtilizationTest, clearsNodesThatHardlyAnybodyAsksFor) {
  Cluster cluster("balance: {enabled: [{name: HighNodeUtilization}]}",
                  "[{name: HighNodeUtilization, args: {thresholds: {cpu: 20, memory: 20}}}]");
  cluster.node("a");
  cluster.node("b");
  cluster.pod("one", {.node = "a"});
  cluster.pod("two", {.node = "a"});
  cluster.pod("large", {.node = "b", .requests = R"("cpu": "2")"});
  EXPECT_THAT(cluster.cycle(), UnorderedElementsAre("one", "two"));
}

TEST(NodeAffinityTest, aPodLeavesForANodeThatItPrefersOrRequires) {
  Cluster cluster("deschedule: {enabled: [{name: RemovePodsViolatingNodeAffinity}]}",
                  "[{name: RemovePodsViolatingNodeAffinity, args: {nodeAffinityType: "
                  "[requiredDuringSchedulingIgnoredDuringExecution, "
                  "preferredDuringSchedulingIgnoredDuringExecution]}}]");
  cluster.node("a");
  cluster.node("b", R"("zone": "x")");
  const std::string term =
      R"({"matchExpressions": [{"key": "zone", "operator": "In", "values": ["x"]}]})";
  cluster.pod("required", {.spec = fmt::format(R"("affinity": {{"nodeAffinity":
                {{"requiredDuringSchedulingIgnoredDuringExecution": {{"nodeSelectorTerms": [{}]}}}}}})",
                                               term)});
  cluster.pod("preferred", {.spec = fmt::format(R"("affinity": {{"nodeAffinity":
                {{"preferredDuringSchedulingIgnoredDuringExecution": [{{"weight": 10, "preference": {}}}]}}}})",
                                                term)});
  cluster.pod("content", {.node = "b"});
  EXPECT_THAT(cluster.cycle(), UnorderedElementsAre("required", "preferred"));
}

TEST(PodStatesTest, ageRestartsAndFailuresDecide) {
  Cluster cluster(
      "deschedule: {enabled: [{name: PodLifeTime}, {name: RemoveFailedPods}, {name: "
      "RemovePodsHavingTooManyRestarts}]}",
      "[{name: PodLifeTime, args: {maxPodLifeTimeSeconds: 600, labelSelector: {matchLabels: {l: "
      "'1'}}}}, {name: RemoveFailedPods, args: {minPodLifetimeSeconds: 0, reasons: [Evicted]}}, "
      "{name: RemovePodsHavingTooManyRestarts, args: {podRestartThreshold: 10}}]");
  cluster.node("a");
  cluster.node("b");
  cluster.pod("old", {.labels = R"("l": "1")"});
  cluster.pod("failed", {.status = R"("phase": "Failed", "reason": "Evicted")"});
  cluster.pod("kept", {.status = R"("phase": "Failed", "reason": "Other")"});
  const auto restarted = [](int count) {
    return fmt::format(R"("phase": "Running", "containerStatuses": [{{"name": "main", "image": "i",
      "imageID": "i", "ready": true, "restartCount": {}}}])",
                       count);
  };
  cluster.pod("r12", {.status = restarted(12)});
  cluster.pod("r9", {.status = restarted(9)});
  EXPECT_THAT(cluster.cycle(), ElementsAre("failed", "r12"));
  cluster.loop().advance(11min);
  EXPECT_THAT(cluster.cycle(), ElementsAre("old"));
}

TEST(PodStatesTest, whatContainersWaitForAndWhatConditionsSayIsStillKnown) {
  const auto left = [](const std::string& args) {
    Cluster cluster("deschedule: {enabled: [{name: PodLifeTime}]}",
                    fmt::format("[{{name: PodLifeTime, args: {}}}]", args));
    cluster.node("a");
    cluster.node("b");
    cluster.pod("crashing", {.status = R"("phase": "Running", "containerStatuses": [{"name": "main",
        "image": "i", "imageID": "i", "ready": false, "restartCount": 3, "state": {"waiting":
        {"reason": "CrashLoopBackOff"}}}])"});
    cluster.pod("unready", {.status = R"("phase": "Running", "conditions": [{"type": "Ready",
        "status": "False", "reason": "ContainersNotReady"}])"});
    cluster.pod("fine", {.status = R"("phase": "Running", "conditions": [{"type": "Ready",
        "status": "True"}])"});
    return cluster.cycle();
  };
  EXPECT_THAT(left("{states: [CrashLoopBackOff]}"), ElementsAre("crashing"));
  EXPECT_THAT(left("{conditions: [{type: Ready, status: 'False', reason: ContainersNotReady}]}"),
              ElementsAre("unready"));
}

TEST(InterPodAntiAffinityTest, aPodLeavesWhomItsTermRepelsInTheDomainOrOnTheNode) {
  Cluster cluster("deschedule: {enabled: [{name: RemovePodsViolatingInterPodAntiAffinity}]}");
  cluster.node("a", R"("zone": "x")");
  cluster.node("b", R"("zone": "x")");
  cluster.node("c", R"("zone": "y")");
  cluster.node("d");  // in no zone
  cluster.node("e");
  const std::string shy = R"("affinity": {"podAntiAffinity":
      {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "zone", "labelSelector":
      {"matchExpressions": [{"key": "app", "operator": "In", "values": ["web"]}]}}]}})";
  const auto put = [&](const std::string& name, const std::string& node, const std::string& spec,
                       const std::string& app) {
    cluster.pod(name, {.node = node, .labels = fmt::format(R"("app": "{}")", app), .spec = spec});
  };
  put("near", "a", shy, "db");
  put("web", "b", "", "web");
  put("far", "c", shy, "db");
  put("beside", "d", shy, "db");
  put("web-d", "d", "", "web");
  put("elsewhere", "e", shy, "db");  // d is in no domain: it has no zone
  EXPECT_THAT(cluster.cycle(), UnorderedElementsAre("near", "beside"));
}

}  // namespace
}  // namespace koord::descheduler
