#include "cluster/simnode/sim_nodes.h"

#include <gtest/gtest.h>

#include <optional>
#include <set>

#include "cluster/simnode/node_metric.h"
#include "cluster/testing/test_cluster.h"

namespace koord::cluster {
namespace {

class SimNodesTest : public testing::Test {
 protected:
  SimNodesTest() : sim(cluster.api, cluster.loop, cluster.nodes, cluster.pods, Random(3)) {
    sim.start();
    cluster.nodes.start();
    cluster.pods.start();
    cluster.bindTo("sim-0");
    EXPECT_TRUE(cluster.run(sim.createNodes(2, {})));
    cluster.loop.advance(1s);
  }

  std::string phase(const std::string& name) {
    const auto pod = cluster.get<api::Pod>(name);
    return pod ? pod->status.phase.str() : "gone";
  }

  TestCluster cluster;
  SimNodes sim;
};

TEST_F(SimNodesTest, NodesAreReadyAndRenewTheirLease) {
  const auto node = cluster.get<api::Node>("sim-1");
  ASSERT_TRUE(node);
  EXPECT_EQ(node->status.conditions.back().type, "Ready");
  EXPECT_EQ(node->status.conditions.back().status, "True");
  EXPECT_EQ(node->status.allocatable.at("cpu").value(), 32);
  const auto before = cluster.get<api::Lease>("sim-1", "kube-node-lease");
  cluster.loop.advance(25s);
  const auto after = cluster.get<api::Lease>("sim-1", "kube-node-lease");
  EXPECT_GT(after->spec.renewTime->time, before->spec.renewTime->time);
}

TEST_F(SimNodesTest, PodsOfANodeThatWasTakenForLostAreReadyAgain) {
  cluster.create(
      "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c, image: i}]}");
  cluster.loop.advance(2s);
  ASSERT_EQ(phase("p"), "Running");
  const auto ready = [&] {
    const auto pod = cluster.get<api::Pod>("p");
    for (const auto& condition : pod->status.conditions)
      if (condition.type == "Ready") return condition.status == "True";
    return false;
  };
  ASSERT_TRUE(ready());
  // As the node lifecycle controller does.
  for (const auto& [type, key] : {std::pair{api::Node::kType, api::ObjectKey{"", "sim-0"}},
                                  std::pair{api::Pod::kType, api::ObjectKey{"default", "p"}}}) {
    auto marking = kube::strategicPatch(
        cluster.api, type, key,
        *parseYaml("status: {conditions: [{type: Ready, status: 'False'}]}"), "status");
    ASSERT_TRUE(cluster.run(std::move(marking)));
  }
  EXPECT_TRUE(cluster.until(ready, 5s));
}

TEST_F(SimNodesTest, ANodeOfTheUserWithKwoksMarkIsTakenUp) {
  cluster.create(
      "apiVersion: v1\nkind: Node\nmetadata: {name: mine, annotations: {kwok.x-k8s.io/node: "
      "fake}}");
  cluster.create("apiVersion: v1\nkind: Node\nmetadata: {name: other}");
  cluster.loop.advance(1s);
  EXPECT_FALSE(cluster.get<api::Node>("mine")->status.conditions.empty());
  EXPECT_TRUE(cluster.get<api::Node>("other")->status.conditions.empty());
}

// An API with slow leases.
class SlowLeases final : public kube::Api {
 public:
  SlowLeases(kube::Api& api, Executor& executor) : api_(api), executor_(executor) {}
  Task<Result<std::string>> call(kube::Request request) override {
    const bool lease = request.resource == "leases";
    auto pause = sleepFor(executor_, lease ? 1s : 0s);
    co_await pause;
    auto calling = api_.call(std::move(request));
    co_return co_await calling;
  }
  std::unique_ptr<kube::Watch> watch(kube::Request request, kube::WatchSink sink) override {
    return api_.watch(std::move(request), std::move(sink));
  }

 private:
  kube::Api& api_;
  Executor& executor_;
};

TEST(SlowSimNodesTest, ANodeMayGoWhileItsLeaseIsRenewed) {
  TestCluster cluster;
  SlowLeases slow(cluster.api, cluster.loop);
  SimNodes sim(slow, cluster.loop, cluster.nodes, cluster.pods, Random(3));
  sim.start();
  cluster.nodes.start();
  cluster.pods.start();
  cluster.create(
      "apiVersion: v1\nkind: Node\nmetadata: {name: brief, annotations: {kwok.x-k8s.io/node: "
      "fake}}");
  cluster.loop.advance(100ms);
  cluster.remove<api::Node>("brief");
  cluster.loop.advance(5s);
  EXPECT_FALSE(cluster.get<api::Node>("brief"));
}

TEST_F(SimNodesTest, PodsRunAndGoWhenDeleted) {
  cluster.create(
      "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c, image: i}]}");
  cluster.loop.advance(1s);
  EXPECT_EQ(phase("p"), "Running");
  EXPECT_FALSE(cluster.get<api::Pod>("p")->status.podIP.empty());
  cluster.remove<api::Pod>("p");
  cluster.loop.advance(1s);
  EXPECT_EQ(phase("p"), "gone");
}

TEST_F(SimNodesTest, APodOfAJobSucceedsAfterItsDelay) {
  for (const char* kind : {"Job", "ReplicaSet"})
    cluster.create(
        std::string("apiVersion: v1\nkind: Pod\nmetadata:\n  name: ") +
        (std::string(kind) == "Job" ? "job" : "web") +
        "\n  annotations: {pod-complete.stage.kwok.x-k8s.io/delay: 30s}\n  ownerReferences: "
        "[{apiVersion: v1, kind: " +
        kind +
        ", name: o, uid: u, controller: true}]\n"
        "spec: {containers: [{name: c, image: i}]}");
  cluster.loop.advance(20s);
  EXPECT_EQ(phase("job"), "Running");
  EXPECT_TRUE(cluster.until([&] { return phase("job") == "Succeeded"; }, 12s));
  EXPECT_EQ(phase("web"), "Running");
}

api::Pod pod(const std::string& name, const std::string& yaml) {
  auto decoded = api::decode<api::Pod>(*parseYaml(yaml));
  EXPECT_TRUE(decoded) << decoded.error().message;
  decoded->metadata.name = name;
  decoded->metadata.namespace_ = "d";
  decoded->status.phase = "Running";
  return *decoded;
}

// With its own informers, as in a process.
struct SimNodesRun {
  SimNodesRun(TestCluster& cluster, int count)
      : nodes(cluster.api, cluster.loop),
        pods(cluster.api, cluster.loop),
        sim(cluster.api, cluster.loop, nodes, pods, Random(3)) {
    sim.start();
    nodes.start();
    pods.start();
    EXPECT_TRUE(cluster.run(sim.createNodes(count, {})));
    cluster.loop.advance(1s);
  }

  kube::Informer<api::Node> nodes;
  kube::Informer<api::Pod> pods;
  SimNodes sim;
};

TEST(SimNodesRestartTest, AddressesOfAnEarlierRunAreNotGivenAgain) {
  TestCluster cluster;
  cluster.pods.start();
  cluster.bindTo("sim-0");
  std::set<std::string> addresses;
  const auto create = [&](const std::string& name) {
    cluster.create("apiVersion: v1\nkind: Pod\nmetadata: {name: " + name +
                   "}\nspec: {containers: [{name: c, image: i}]}");
    cluster.loop.advance(2s);
    addresses.insert(cluster.get<api::Pod>(name)->status.podIP.str());
  };
  std::optional<SimNodesRun> run(std::in_place, cluster, 2);
  create("a");
  create("b");
  run.reset();
  run.emplace(cluster, 4);
  create("c");
  for (const auto* name : {"sim-0", "sim-1", "sim-2", "sim-3"})
    addresses.insert(cluster.get<api::Node>(name)->status.addresses.front().address);
  EXPECT_EQ(addresses.size(), 7u);
  EXPECT_FALSE(addresses.contains(""));
}

TEST(KwokTest, UsageIsAnnotatedOrHalfOfTheRequestInThePodsOwnResources) {
  const auto annotated = pod(
      "a",
      "metadata: {annotations: {kwok.x-k8s.io/usage-cpu: 250m, kwok.x-k8s.io/usage-memory: 1Gi}}");
  EXPECT_EQ(usageOf(annotated).cpuMilli, 250);
  EXPECT_EQ(usageOf(annotated).memoryBytes, 1 << 30);
  const auto batch =
      pod("b",
          "metadata: {labels: {koordinator.sh/qosClass: BE}}\nspec: {priority: 5000, containers: "
          "[{name: c, resources: "
          "{requests: {kubernetes.io/batch-cpu: '1000', kubernetes.io/batch-memory: 2Gi}}}]}");
  EXPECT_EQ(usageOf(batch).cpuMilli, 500);
  EXPECT_EQ(usageOf(batch).memoryBytes, 1 << 30);
  const auto broken = pod("c", "metadata: {annotations: {kwok.x-k8s.io/usage-cpu: many}}");
  EXPECT_EQ(usageOf(broken).cpuMilli, 1);
}

TEST(NodeMetricTest, TheReportIsTheSumOfPodsAndSystem) {
  api::Node node;
  node.metadata.annotations["kwok.x-k8s.io/usage-cpu"] = "1";
  const auto web =
      std::make_shared<const api::Pod>(pod("web",
                                           "metadata: {annotations: {kwok.x-k8s.io/usage-cpu: "
                                           "500m}}\nspec: {priority: 9000, containers: "
                                           "[{name: c, resources: {requests: {cpu: 2}}}]}"));
  auto done = pod("done", "metadata: {annotations: {kwok.x-k8s.io/usage-cpu: '4'}}");
  done.status.phase = "Succeeded";
  const auto status =
      nodeMetricStatus(node, {web, std::make_shared<const api::Pod>(done)}, {}, WallTime{});
  EXPECT_EQ(status.nodeMetric->nodeUsage.resources.at("cpu").milliValue(), 1500);
  EXPECT_EQ(status.nodeMetric->systemUsage.resources.at("cpu").milliValue(), 1000);
  ASSERT_EQ(status.podsMetric.size(), 1u);
  EXPECT_EQ(status.podsMetric[0].priority, "koord-prod");
  EXPECT_EQ(status.nodeMetric->aggregatedNodeUsages.size(), 3u);
  // What was requested and is not used, with a margin of ten percent on the usage.
  EXPECT_EQ(status.prodReclaimableMetric->resource.resources.at("cpu").milliValue(), 1450);
}

TEST(NodeMetricTest, TheIntervalHasKoordletsLimits) {
  api::NodeMetricSpec spec;
  EXPECT_EQ(reportInterval(spec), 60s);
  spec.metricCollectPolicy = api::NodeMetricCollectPolicy{};
  spec.metricCollectPolicy->reportIntervalSeconds = 5;
  EXPECT_EQ(reportInterval(spec), 30s);
}

}  // namespace
}  // namespace koord::cluster
