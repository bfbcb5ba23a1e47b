// Pods of nodes that are not ready, and namespaces that cannot be finalized.

#include <gmock/gmock.h>

#include <limits>

#include "base/time.h"
#include "cluster/controllers/controllers_testing.h"
#include "cluster/controllers/node_lifecycle.h"
#include "cluster/controllers/pod_gc.h"
#include "cluster/controllers/pod_index.h"

namespace koord::cluster {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class NodesTest : public ControllersTest {
 protected:
  // Next to a ready node.
  void node(const std::string& ready) {
    cluster.create(
        "apiVersion: v1\nkind: Node\nmetadata: {name: other}\nstatus: {conditions: [{type: Ready, "
        "status: 'True'}]}");
    cluster.create(
        "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\nstatus: {conditions: [{type: Ready, "
        "status: '" +
        ready + "'}]}");
    cluster.loop.advance(1s);
  }
  void setReady(const std::string& status) {
    cluster.patch<api::Node>(
        "n1", "status: {conditions: [{type: Ready, status: '" + status + "'}]}", "status");
    cluster.loop.advance(1s);
  }
  void pod(const std::string& name, const std::string& more = "") {
    cluster.create("apiVersion: v1\nkind: Pod\nmetadata: {name: " + name +
                   "}\nspec: {nodeName: n1, containers: [{name: c, image: i}]" + more + "}");
  }
  void renewLease() {
    const std::string renewal =
        "spec: {holderIdentity: n1, renewTime: '" + formatMicroTime(cluster.loop.wallNow()) + "'}";
    const api::ObjectKey key{"kube-node-lease", "n1"};
    if (cluster.get<api::Lease>("n1", "kube-node-lease"))
      EXPECT_TRUE(
          cluster.run(kube::mergePatch(cluster.api, api::Lease::kType, key, *parseYaml(renewal))));
    else
      cluster.create(
          "apiVersion: coordination.k8s.io/v1\nkind: Lease\nmetadata: {name: n1, namespace: "
          "kube-node-lease}\n" +
          renewal);
    cluster.loop.advance(1s);
  }
  std::vector<std::string> taints() {
    std::vector<std::string> out;
    const auto node = cluster.get<api::Node>("n1");
    for (const auto& taint : node->spec.taints) out.push_back(taint.key + ":" + taint.effect);
    return out;
  }
  bool leaves(const std::string& name) {
    const auto found = cluster.get<api::Pod>(name);
    return !found || found->metadata.deletionTimestamp;
  }
};

TEST_F(NodesTest, TaintsFollowTheConditionsOfANode) {
  node("False");
  EXPECT_THAT(taints(), ElementsAre("node.kubernetes.io/not-ready:NoSchedule",
                                    "node.kubernetes.io/not-ready:NoExecute"));
  setReady("True");
  EXPECT_THAT(taints(), IsEmpty());
  cluster.patch<api::Node>(
      "n1", "spec: {unschedulable: true, taints: [{key: mine, effect: NoSchedule}]}");
  cluster.patch<api::Node>(
      "n1",
      "status: {conditions: [{type: Ready, status: 'True'}, {type: DiskPressure, status: 'True'}]}",
      "status");
  cluster.loop.advance(1s);
  EXPECT_THAT(taints(),
              UnorderedElementsAre("mine:NoSchedule", "node.kubernetes.io/disk-pressure:NoSchedule",
                                   "node.kubernetes.io/unschedulable:NoSchedule"));
}

TEST_F(NodesTest, PodsLeaveABrokenNodeWhenTheirTolerationEnds) {
  node("True");
  pod("plain");
  pod("patient", ", tolerations: [{operator: Exists}]");
  pod("hasty",
      ", tolerations: [{key: node.kubernetes.io/not-ready, operator: Exists, effect: NoExecute, "
      "tolerationSeconds: 20}]");
  setReady("False");
  cluster.loop.advance(18s);
  EXPECT_FALSE(leaves("hasty"));
  cluster.loop.advance(3s);
  EXPECT_TRUE(leaves("hasty"));
  EXPECT_FALSE(leaves("plain"));
  cluster.loop.advance(300s);
  EXPECT_TRUE(leaves("plain"));
  EXPECT_FALSE(leaves("patient"));
  const auto gone = cluster.get<api::Pod>("plain");
  ASSERT_TRUE(gone);
  EXPECT_EQ(gone->status.conditions.back().reason, "DeletionByTaintManager");
}

TEST_F(NodesTest, ANodeThatRecoversKeepsItsPods) {
  node("True");
  pod("plain");
  setReady("False");
  cluster.loop.advance(200s);
  setReady("True");
  cluster.loop.advance(300s);
  EXPECT_FALSE(leaves("plain"));
}

TEST_F(NodesTest, ANodeThatStopsRenewingItsLeaseIsUnreachable) {
  node("True");
  pod("plain");
  setPhase("Running");
  renewLease();
  for (int i = 0; i < 6; ++i) {
    cluster.loop.advance(20s);
    renewLease();
  }
  EXPECT_THAT(taints(), IsEmpty());
  cluster.loop.advance(55s);
  EXPECT_THAT(taints(), ElementsAre("node.kubernetes.io/unreachable:NoSchedule",
                                    "node.kubernetes.io/unreachable:NoExecute"));
  EXPECT_EQ(cluster.get<api::Node>("n1")->status.conditions[0].reason, "NodeStatusUnknown");
  EXPECT_FALSE(isReady(*cluster.get<api::Pod>("plain")));
}

TEST_F(NodesTest, NobodyLeavesWhenNoNodeWorks) {
  node("True");
  pod("plain");
  const auto other = [&](const std::string& status) {
    cluster.patch<api::Node>(
        "other", "status: {conditions: [{type: Ready, status: '" + status + "'}]}", "status");
    cluster.loop.advance(1s);
  };
  setReady("False");
  EXPECT_EQ(taints().size(), 2u);
  other("False");
  EXPECT_THAT(taints(), ElementsAre("node.kubernetes.io/not-ready:NoSchedule"));
  cluster.loop.advance(1h);
  EXPECT_FALSE(leaves("plain"));
  other("True");
  cluster.loop.advance(10s);
  EXPECT_EQ(taints().size(), 2u);
  cluster.loop.advance(200s);
  EXPECT_FALSE(leaves("plain")) << "its time begins anew";
  cluster.loop.advance(120s);
  EXPECT_TRUE(leaves("plain"));
}

TEST_F(NodesTest, NodesThatFailTogetherLoseTheirPodsOneAfterTheOther) {
  for (int i = 0; i < 6; ++i)
    cluster.create("apiVersion: v1\nkind: Node\nmetadata: {name: n" + std::to_string(i) +
                   "}\nstatus: {conditions: [{type: Ready, status: 'True'}]}");
  cluster.loop.advance(1s);
  const auto fail = [&](int i) {
    cluster.patch<api::Node>("n" + std::to_string(i),
                             "status: {conditions: [{type: Ready, status: 'False'}]}", "status");
  };
  const auto evicting = [&] {
    const auto nodes = cluster.list<api::Node>();
    return std::ranges::count_if(nodes, [](const api::Node& node) {
      return std::ranges::any_of(node.spec.taints,
                                 [](const auto& taint) { return taint.effect == "NoExecute"; });
    });
  };
  for (int i = 0; i < 3; ++i) fail(i);
  cluster.loop.advance(2s);
  EXPECT_EQ(evicting(), 1);
  cluster.loop.advance(10s);
  EXPECT_EQ(evicting(), 2);
  cluster.loop.advance(10s);
  EXPECT_EQ(evicting(), 3);
  // Four of six: in such a small zone no further node is tainted.
  fail(3);
  cluster.loop.advance(1min);
  EXPECT_EQ(evicting(), 3);
}

TEST(DisruptionZonesTest, HowFastNodesLoseTheirPodsDependsOnHowManyFailBesideThem) {
  const auto nodeOf = [](const std::string& zone, const char* ready) {
    api::Node node;
    node.metadata.labels["topology.kubernetes.io/zone"] = zone;
    node.status.conditions.push_back({});
    node.status.conditions.back().type = "Ready";
    node.status.conditions.back().status = ready;
    return node;
  };
  const struct {
    const char* name;
    int ready, failing, elsewhere;
    std::optional<Duration> pause;
  } rows[] = {
      {"one of two", 1, 1, 0, 10s},
      {"two of three", 1, 2, 0, 10s},
      {"three of five", 2, 3, 0, std::nullopt},
      {"three of six", 3, 3, 0, 10s},
      {"most of a large zone", 20, 40, 0, 100s},
      {"most of fifty", 10, 40, 0, std::nullopt},
      {"a whole zone of two", 0, 40, 1, 10s},
      {"all that there are", 0, 3, 0, std::nullopt},
  };
  for (const auto& row : rows) {
    DisruptionZones zones;
    const api::Node good = nodeOf("a", "True");
    const api::Node bad = nodeOf("a", "Unknown");
    const api::Node other = nodeOf("b", "True");
    for (int i = 0; i < row.ready; ++i) zones.count(nullptr, &good);
    for (int i = 0; i < row.failing; ++i) zones.count(nullptr, &bad);
    for (int i = 0; i < row.elsewhere; ++i) zones.count(nullptr, &other);
    const SteadyTime start{1h};
    EXPECT_EQ(!zones.waitFor(bad, start), row.pause.has_value()) << row.name;
    if (!row.pause) continue;
    EXPECT_TRUE(zones.waitFor(bad, start + *row.pause - 1ms)) << row.name;
    EXPECT_FALSE(zones.waitFor(bad, start + *row.pause)) << row.name;
  }
}

TEST(DisruptionZonesTest, NodesThatAreExcludedOrSayNothingDoNotCount) {
  DisruptionZones zones;
  api::Node silent;
  api::Node excluded;
  excluded.metadata.labels["node.kubernetes.io/exclude-disruption"] = "";
  excluded.status.conditions.push_back({});
  excluded.status.conditions.back().type = "Ready";
  excluded.status.conditions.back().status = "False";
  zones.count(nullptr, &silent);
  zones.count(nullptr, &excluded);
  EXPECT_FALSE(zones.allFail());
}

// A loop that is suspended for a while: its clock advances, but nothing runs.
class SleepyLoop final : public Executor {
 public:
  explicit SleepyLoop(VirtualLoop& loop) : loop_(loop) {}
  void sleep(Duration span) { slept_ += span; }

  WallTime wallNow() const override { return loop_.wallNow() + slept_; }
  SteadyTime steadyNow() const override { return loop_.steadyNow() + slept_; }
  void post(Callback fn) override { loop_.post(std::move(fn)); }
  TimerId runAt(SteadyTime when, Callback fn) override {
    return loop_.runAt(when - slept_, std::move(fn));
  }
  void cancel(TimerId timer) override { loop_.cancel(timer); }

 private:
  VirtualLoop& loop_;
  Duration slept_{};
};

TEST(NodeLifecycleTest, AControllerThatStoodStillTakesNoNodeForLost) {
  TestCluster cluster;
  SleepyLoop loop(cluster.loop);
  kube::EventRecorder events(cluster.api, loop, "test", Random(1));
  kube::Informer<api::Lease> leases(cluster.api, loop, {"kube-node-lease", "", ""});
  NodeLifecycleController controller(cluster.api, loop, cluster.nodes, leases, cluster.pods,
                                     events);
  cluster.create(
      "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\nstatus: {conditions: [{type: Ready, "
      "status: 'True'}]}");
  cluster.create(
      "apiVersion: coordination.k8s.io/v1\nkind: Lease\nmetadata: {name: n1, namespace: "
      "kube-node-lease}\nspec: {holderIdentity: n1}");
  cluster.nodes.start();
  cluster.pods.start();
  leases.start();
  cluster.loop.advance(1s);
  controller.start();
  cluster.loop.advance(10s);
  const auto ready = [&] {
    const auto node = cluster.get<api::Node>("n1");
    return node->status.conditions.at(0).status == "True";
  };
  loop.sleep(10min);
  // Before anything else has run.
  cluster.patch<api::Node>("n1", "metadata: {labels: {a: b}}");
  cluster.loop.advance(40s);
  EXPECT_TRUE(ready());
  EXPECT_TRUE(cluster.until([&] { return !ready(); }, 30s));  // its lease was not renewed
}

TEST(PodGarbageTest, PodsOfANodeThatTheInformerHasNotSeenStay) {
  TestCluster cluster;
  kube::Informer<api::Node> none(cluster.api, cluster.loop, {"", "no=node", ""});
  PodGarbageCollector collector(cluster.api, cluster.loop, cluster.pods, none);
  collector.start();
  cluster.pods.start();
  none.start();
  cluster.create(
      "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\n---\napiVersion: v1\nkind: Pod\nmetadata: "
      "{name: p}\nspec: {nodeName: n1, containers: [{name: c, image: i}]}");
  cluster.loop.advance(2min);
  EXPECT_TRUE(cluster.get<api::Pod>("p"));
  cluster.remove<api::Node>("n1");
  EXPECT_TRUE(cluster.until([&] { return !cluster.get<api::Pod>("p"); }, 2min));
}

TEST_F(NodesTest, APodThatToleratesForAgesStays) {
  node("True");
  pod("faithful",
      ", tolerations: [{key: node.kubernetes.io/not-ready, operator: Exists, effect: NoExecute, "
      "tolerationSeconds: 9223372036854775807}]");
  setReady("False");
  cluster.loop.advance(1h);
  EXPECT_FALSE(leaves("faithful"));
}

TEST_F(NodesTest, PodsAreFoundByTheirNode) {
  PodIndex index(cluster.pods, nodeOfPod);
  const auto on = [&](const char* name) {
    std::vector<std::string> names;
    for (const auto& pod : index.of(name)) names.push_back(pod->metadata.name);
    return names;
  };
  node("True");
  pod("first");
  cluster.create(
      "apiVersion: v1\nkind: Pod\nmetadata: {name: later}\nspec: {containers: [{name: c, image: "
      "i}]}");
  cluster.loop.advance(1s);
  EXPECT_THAT(on("n1"), ElementsAre("first"));
  EXPECT_THAT(on(""), IsEmpty());
  const auto later = *cluster.get<api::Pod>("later");
  ASSERT_TRUE(cluster.run(
      kube::bindPod(cluster.api, api::keyOf(later.metadata), later.metadata.uid, "n1")));
  cluster.loop.advance(1s);
  EXPECT_THAT(on("n1"), ElementsAre("first", "later"));
  kube::DeleteOptions now;
  now.gracePeriodSeconds = 0;
  cluster.remove<api::Pod>("first", now);
  cluster.loop.advance(1s);
  EXPECT_THAT(on("n1"), ElementsAre("later"));
}

TEST_F(NodesTest, ANodeMadeByHandIsLeftAlone) {
  node("True");
  pod("plain");
  cluster.loop.advance(1h);
  EXPECT_THAT(taints(), IsEmpty());
  EXPECT_FALSE(leaves("plain"));
}

TEST(EvictionTimeTest, TheShortestTolerationDecides) {
  const WallTime now = *parseTime("2026-01-01T00:00:00Z");
  const api::Taint here{"a", "", "NoExecute", now};
  const auto tolerate = [](std::optional<std::int64_t> seconds, const char* key = "a") {
    return api::Toleration{key, "Exists", "", "NoExecute", seconds};
  };
  const struct {
    const char* name;
    api::List<api::Toleration> tolerations;
    std::optional<Duration> after;
  } cases[] = {
      {"nothing tolerates it", {}, 0s},
      {"another taint is tolerated", {tolerate(10, "b")}, 0s},
      {"for ever", {tolerate({})}, std::nullopt},
      {"for a while", {tolerate(10)}, 10s},
      {"for two whiles", {tolerate(10), tolerate(5), tolerate({})}, 5s},
      {"for less than no time", {tolerate(-3)}, 0s},
      {"for longer than a clock can tell",
       {tolerate(std::numeric_limits<std::int64_t>::max())},
       std::nullopt},
      {"for three hundred years", {tolerate(10'000'000'000)}, std::nullopt},
      {"for ages, and a while", {tolerate(10'000'000'000), tolerate(10)}, 10s},
  };
  for (const auto& test : cases) {
    api::Pod pod;
    pod.spec.tolerations = test.tolerations;
    const auto leave = evictionTime(pod, {here}, now);
    EXPECT_EQ(leave ? std::optional<Duration>(*leave - now) : std::nullopt, test.after)
        << test.name;
  }
}

TEST(EvictionTimeTest, APodThatCameAfterTheTaintHasItsWholeTime) {
  const WallTime now = *parseTime("2026-01-01T00:00:00Z");
  const api::Taint here{"a", "", "NoExecute", now - 1h};
  api::Pod pod;
  pod.spec.tolerations.push_back(api::Toleration{"a", "Exists", "", "NoExecute", 60});
  EXPECT_EQ(evictionTime(pod, {here}, now), now - 1h + 60s);
  pod.metadata.creationTimestamp = now - 10s;
  EXPECT_EQ(evictionTime(pod, {here}, now), now + 50s);
  api::PodCondition bound;
  bound.type = "PodScheduled";
  bound.status = "True";
  bound.lastTransitionTime = now;
  pod.status.conditions.push_back(bound);
  EXPECT_EQ(evictionTime(pod, {here}, now), now + 60s);
}

TEST_F(NodesTest, PodsBeingDeletedOnANodeOutOfServiceGo) {
  node("False");
  pod("stuck");
  cluster.remove<api::Pod>("stuck");
  cluster.loop.advance(20s);
  EXPECT_TRUE(cluster.get<api::Pod>("stuck"));
  cluster.patch<api::Node>(
      "n1", "spec: {taints: [{key: node.kubernetes.io/out-of-service, effect: NoSchedule}]}");
  EXPECT_TRUE(cluster.until([&] { return !cluster.get<api::Pod>("stuck"); }));
}

TEST_F(NodesTest, ANamespaceThatCannotGoSaysWhy) {
  cluster.create("apiVersion: v1\nkind: Namespace\nmetadata: {name: held}");
  cluster.create(
      "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: held, finalizers: "
      "[example.com/keep]}");
  cluster.remove<api::Namespace>("held");
  cluster.loop.advance(5s);
  const auto held = cluster.get<api::Namespace>("held");
  ASSERT_TRUE(held);
  std::map<std::string, std::string> conditions;
  for (const auto& condition : held->status.conditions)
    conditions[condition.type] = condition.status + " " + condition.message;
  EXPECT_EQ(conditions["NamespaceContentRemaining"],
            "True Some resources are remaining: configmaps. has 1 resource instances");
  EXPECT_EQ(conditions["NamespaceFinalizersRemaining"],
            "True Some content in the namespace has finalizers remaining: example.com/keep in 1 "
            "resource instances");
  EXPECT_THAT(conditions["NamespaceDeletionContentFailure"], HasSubstr("False"));
  EXPECT_TRUE(cluster.run(kube::mergePatch(cluster.api, api::ConfigMap::kType, {"held", "c"},
                                           *parseYaml("metadata: {finalizers: null}"))));
  EXPECT_TRUE(cluster.until([&] { return !cluster.get<api::Namespace>("held"); }));
}

}  // namespace
}  // namespace koord::cluster
