#include "manager/controllers.h"

#include <gmock/gmock.h>

#include "apiserver/embedded_cluster.h"
#include "base/time.h"

namespace koord::manager {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kEnabled = R"({"enable":true})";

class ControllersTest : public testing::Test {
 protected:
  ControllersTest() {
    const std::filesystem::path deploy = KOORD_DEPLOY;
    for (const char* kind : {"nodemetrics", "nodeslos"})
      cluster_.install(deploy / "crds" / fmt::format("slo.koordinator.sh_{}.yaml", kind));
    for (const char* name : {"00-namespace", "priority-classes"})
      cluster_.install(deploy / "manifests" / fmt::format("{}.yaml", name));
  }
  void start() {
    controllers_ = std::make_unique<Controllers>(cluster_, loop_, random_, options_, metrics_);
    controllers_->start();
    settle();
  }
  void settle() { loop_.advance(3s); }

  void putConfig(std::string_view key, std::string_view text) {
    data_[std::string(key)] = std::string(text);
    cluster_.put(
        api::ConfigMap::kType,
        toJson(json::object{
            {"metadata", {{"name", "slo-controller-config"}, {"namespace", "koordinator-system"}}},
            {"data", api::encode(data_)}}));
  }
  void putNode(std::string_view name, std::string_view labels = "{}") {
    cluster_.put(api::Node::kType,
                 fmt::format(R"({{"metadata":{{"name":"{}","labels":{}}},"status":{{
                     "capacity":{{"cpu":"100","memory":"120G"}},
                     "allocatable":{{"cpu":"100","memory":"120G"}}}}}})",
                             name, labels));
  }
  // Reports now: the system uses 7 cores and 12G, one LS pod the given amounts.
  void report(std::string_view node, std::string_view cpu, std::string_view memory) {
    json::value object = *cluster_.get(api::NodeMetric::kType, std::string(node));
    object.as_object()["status"] =
        parseJson(
            fmt::format(
                R"({{"updateTime":"{}","nodeMetric":{{"nodeUsage":{{"resources":{{"cpu":"50","memory":"60G"}}}},
           "systemUsage":{{"resources":{{"cpu":"7","memory":"12G"}}}}}},
           "podsMetric":[{{"namespace":"default","name":"ls","priority":"koord-prod","qos":"LS",
             "podUsage":{{"resources":{{"cpu":"{}","memory":"{}"}}}}}}]}})",
                formatTime(loop_.wallNow()), cpu, memory))
            .value();
    cluster_.put(api::NodeMetric::kType, toJson(object));
  }
  void putPods(std::string_view node) {
    cluster_.put(api::Pod::kType, fmt::format(R"({{"metadata":{{"namespace":"default","name":"ls",
        "labels":{{"koordinator.sh/qosClass":"LS"}}}},"spec":{{"nodeName":"{}","priorityClassName":"koord-prod",
        "containers":[{{"name":"c","image":"i","resources":{{"requests":{{"cpu":"40","memory":"60G"}}}}}}]}},
        "status":{{"phase":"Running"}}}})",
                                              node));
  }

  std::string allocatable(const std::string& node, std::string_view resource) {
    return std::string(
        textAt(*cluster_.get(api::Node::kType, node), "status", "allocatable", resource));
  }
  std::string spec(const api::ResourceType& type, const std::string& name) {
    const auto object = cluster_.get(type, name);
    return object ? toJson(*find(*object, "spec")) : "none";
  }
  std::int64_t reportInterval(const std::string& node) {
    return at(*cluster_.get(api::NodeMetric::kType, node), "spec", "metricCollectPolicy",
              "reportIntervalSeconds")
        ->to_number<std::int64_t>();
  }
  std::string eventText() {
    std::string text;
    for (const auto& write : cluster_.writes)
      if (write.resource == "events") text += write.body + "\n";
    return text;
  }

  VirtualLoop loop_;
  apiserver::EmbeddedCluster cluster_{loop_};
  Random random_{7};
  ManagerOptions options_;
  Metrics metrics_;
  api::StringMap data_;
  std::unique_ptr<Controllers> controllers_;
};

TEST_F(ControllersTest, EveryNodeHasItsNodeMetricAndNodeSloWhileItLives) {
  putConfig("colocation-config", R"({"enable":true,"metricReportIntervalSeconds":30})");
  putNode("n1");
  start();
  EXPECT_EQ(spec(api::NodeMetric::kType, "n1"),
            R"({"metricCollectPolicy":{"aggregateDurationSeconds":300,"reportIntervalSeconds":30,)"
            R"("nodeAggregatePolicy":{"durations":["5m0s","10m0s","30m0s"]},)"
            R"("nodeMemoryCollectPolicy":"usageWithoutPageCache"}})");
  EXPECT_THAT(spec(api::NodeSLO::kType, "n1"), HasSubstr(R"("cpuSuppressThresholdPercent":65)"));

  putNode("n2");
  settle();
  EXPECT_EQ(cluster_.count(api::NodeMetric::kType), 2u);

  cluster_.remove(api::NodeSLO::kType, "n2");
  settle();
  EXPECT_TRUE(cluster_.get(api::NodeSLO::kType, "n2")) << "made again";

  cluster_.remove(api::Node::kType, "n2");
  settle();
  EXPECT_FALSE(cluster_.get(api::NodeMetric::kType, "n2"));
  EXPECT_FALSE(cluster_.get(api::NodeSLO::kType, "n2"));
}

TEST_F(ControllersTest, ASettledClusterIsNotWrittenTo) {
  putConfig("colocation-config", kEnabled);
  putNode("n1");
  start();
  report("n1", "11", "11G");
  settle();
  cluster_.writes.clear();
  loop_.advance(60s);
  putNode("n2");
  settle();
  for (const auto& write : cluster_.writes) EXPECT_NE(write.name, "n1") << write.resource;
}

TEST_F(ControllersTest, ADisabledNodeStillReportsWithTheDefaultPolicy) {
  putConfig("colocation-config", R"({"enable":false,"metricReportIntervalSeconds":30})");
  putNode("n1");
  start();
  EXPECT_EQ(reportInterval("n1"), 60);
}

TEST_F(ControllersTest, WithoutConfigMapExistingSpecsStayAndNewOnesAreDefaults) {
  putNode("old");
  putNode("new");
  cluster_.put(
      api::NodeMetric::kType,
      R"({"metadata":{"name":"old"},"spec":{"metricCollectPolicy":{"reportIntervalSeconds":30}}})");
  start();
  EXPECT_EQ(reportInterval("old"), 30);
  EXPECT_EQ(reportInterval("new"), 60);
}

TEST_F(ControllersTest, ABrokenSectionKeepsTheLastGoodOneAndIsReportedByField) {
  putConfig("colocation-config", R"({"enable":true,"metricReportIntervalSeconds":30})");
  putConfig("resource-threshold-config",
            R"({"clusterStrategy":{"enable":true,"cpuSuppressThresholdPercent":60}})");
  putNode("n1");
  start();
  putConfig("colocation-config", R"({"enable":"yes"})");
  putConfig("resource-threshold-config",
            R"({"clusterStrategy":{"cpuSuppressThresholdPercent":"60"}})");
  putNode("n2");
  settle();
  EXPECT_EQ(reportInterval("n1"), 30);
  EXPECT_EQ(reportInterval("n2"), 30) << "new nodes get the last good values";
  EXPECT_THAT(spec(api::NodeSLO::kType, "n2"), HasSubstr(R"("cpuSuppressThresholdPercent":60)"));
  EXPECT_THAT(eventText(), HasSubstr("ColocationCfgUnmarshalFailed"));
  EXPECT_THAT(eventText(), HasSubstr("colocation-config: enable: expected true or false"));
  EXPECT_THAT(eventText(), HasSubstr("SLOCfgUnmarshalFailed"));
  EXPECT_THAT(eventText(), HasSubstr("clusterStrategy: cpuSuppressThresholdPercent"));

  putConfig("colocation-config", R"({"enable":true,"metricReportIntervalSeconds":20})");
  settle();
  EXPECT_EQ(reportInterval("n1"), 20) << "a good section takes effect again";
}

TEST_F(ControllersTest, ASectionThatIsBrokenAtTheStartLeavesNodesAsTheyWere) {
  putConfig("colocation-config", kEnabled);
  putConfig("resource-threshold-config",
            R"({"clusterStrategy":{"enable":true,"cpuSuppressThresholdPercent":60}})");
  putConfig("cpu-burst-config", R"({"clusterStrategy":{"policy":"auto"}})");
  putNode("n1");
  start();
  const std::string before = spec(api::NodeSLO::kType, "n1");
  ASSERT_THAT(before, HasSubstr(R"("cpuSuppressThresholdPercent":60)"));
  controllers_.reset();
  putConfig("resource-threshold-config", R"({"clusterStrategy":{"enable":"yes"}})");
  start();
  EXPECT_EQ(spec(api::NodeSLO::kType, "n1"), before) << "best effort is still suppressed";
  putNode("n2");
  settle();
  EXPECT_THAT(spec(api::NodeSLO::kType, "n2"), HasSubstr(R"("enable":false)"));
  EXPECT_THAT(spec(api::NodeSLO::kType, "n2"), HasSubstr(R"("policy":"auto")"));
  putConfig("resource-threshold-config",
            R"({"clusterStrategy":{"enable":true,"cpuSuppressThresholdPercent":50}})");
  settle();
  for (const char* node : {"n1", "n2"})
    EXPECT_THAT(spec(api::NodeSLO::kType, node), HasSubstr(R"("cpuSuppressThresholdPercent":50)"));
}

TEST_F(ControllersTest, NodeStrategiesFollowTheLabelsOfTheNode) {
  putConfig("colocation-config", kEnabled);
  putConfig("resource-threshold-config", R"({"clusterStrategy":{"enable":true},"nodeStrategies":[
      {"name":"a","nodeSelector":{"matchLabels":{"pool":"a"}},"cpuSuppressThresholdPercent":80}]})");
  putNode("n1");
  start();
  EXPECT_THAT(spec(api::NodeSLO::kType, "n1"), HasSubstr(R"("cpuSuppressThresholdPercent":65)"));
  putNode("n1", R"({"pool":"a"})");
  settle();
  EXPECT_THAT(spec(api::NodeSLO::kType, "n1"), HasSubstr(R"("cpuSuppressThresholdPercent":80)"));
}

TEST_F(ControllersTest, BatchResourcesAppearFollowTheUsageAndVanishWithStaleMetrics) {
  putConfig("colocation-config", R"({"enable":true,"cpuReclaimThresholdPercent":65})");
  putNode("n1");
  putPods("n1");
  start();
  EXPECT_EQ(allocatable("n1", "kubernetes.io/batch-cpu"), "") << "nothing without metrics";

  report("n1", "33", "33G");
  settle();
  EXPECT_EQ(allocatable("n1", "kubernetes.io/batch-cpu"), "25k");
  EXPECT_EQ(allocatable("n1", "kubernetes.io/batch-memory"), "33G");
  EXPECT_EQ(allocatable("n1", "cpu"), "100");
  EXPECT_EQ(
      textAt(*cluster_.get(api::Node::kType, "n1"), "metadata", "annotations",
             "node.koordinator.sh/originExtendedAllocatable"),
      R"({"resources":{"kubernetes.io/batch-cpu":"25k","kubernetes.io/batch-memory":"33G"}})");

  report("n1", "34", "33G");
  settle();
  EXPECT_EQ(allocatable("n1", "kubernetes.io/batch-cpu"), "25k") << "4 % is held back";
  report("n1", "43", "33G");
  settle();
  EXPECT_EQ(allocatable("n1", "kubernetes.io/batch-cpu"), "15k");

  loop_.advance(14min);
  EXPECT_EQ(allocatable("n1", "kubernetes.io/batch-cpu"), "15k");
  loop_.advance(2min);
  EXPECT_EQ(allocatable("n1", "kubernetes.io/batch-cpu"), "") << "degraded without any event";
  EXPECT_EQ(allocatable("n1", "kubernetes.io/batch-memory"), "");
  EXPECT_EQ(allocatable("n1", "cpu"), "100");

  report("n1", "33", "33G");
  settle();
  EXPECT_EQ(allocatable("n1", "kubernetes.io/batch-cpu"), "25k") << "and back";
}

TEST_F(ControllersTest, WhatIsHeldBackIsWrittenWhenTheLastWriteIsOldEnough) {
  putConfig("colocation-config", R"({"enable":true,"cpuReclaimThresholdPercent":65})");
  putNode("n1");
  putPods("n1");
  start();
  report("n1", "33", "33G");
  settle();
  report("n1", "34", "33G");
  settle();
  EXPECT_EQ(allocatable("n1", "kubernetes.io/batch-cpu"), "25k");
  loop_.advance(310s);
  EXPECT_EQ(allocatable("n1", "kubernetes.io/batch-cpu"), "24k");
}

TEST_F(ControllersTest, DisablingTakesTheResourcesAway) {
  putConfig("colocation-config", kEnabled);
  putNode("n1");
  putPods("n1");
  start();
  report("n1", "10", "10G");
  settle();
  EXPECT_NE(allocatable("n1", "kubernetes.io/batch-cpu"), "");
  putConfig("colocation-config", R"({"enable":false})");
  settle();
  EXPECT_EQ(allocatable("n1", "kubernetes.io/batch-cpu"), "");
  EXPECT_EQ(allocatable("n1", "kubernetes.io/mid-cpu"), "");
}

TEST_F(ControllersTest, ANodeMayTurnCoLocationOnByItselfWhereThatIsAllowed) {
  const char* config = R"({"enable":false,"nodeConfigs":[
      {"name":"some","nodeSelector":{"matchLabels":{"pool":"some"}},"enable":true}]})";
  for (const bool allowed : {false, true}) {
    controllers_.reset();
    loop_.advance(1s);
    options_.nodeResource.nodesDecide = allowed;
    putConfig("colocation-config", config);
    putNode("n1", R"({"pool":"some"})");
    putNode("n2");
    start();
    report("n1", "10", "10G");
    report("n2", "10", "10G");
    settle();
    EXPECT_EQ(allocatable("n1", "kubernetes.io/batch-cpu"), allowed ? "43k" : "");
    EXPECT_EQ(allocatable("n2", "kubernetes.io/batch-cpu"), "");
  }
}

TEST_F(ControllersTest, WhatNodesOfferIsToldInTheUnitsOfTheOriginalOrInCores) {
  putConfig("colocation-config", R"({"enable":true,"midUnallocatedPercent":10})");
  putNode("n1");
  options_.nodeResource.upstreamUnits = false;
  start();
  report("n1", "10", "10G");
  settle();
  constexpr const char* kSeries =
      R"(slo_controller_node_extended_resource_allocatable_internal{{node="n1",resource="kubernetes.io/{}",unit="integer"}} {})";
  EXPECT_THAT(metrics_.internalText(), HasSubstr(fmt::format(kSeries, "batch-cpu", "43")));
  EXPECT_THAT(metrics_.internalText(), HasSubstr(fmt::format(kSeries, "mid-cpu", "9.3")));
  options_.nodeResource.upstreamUnits = true;
  controllers_.reset();
  start();
  report("n1", "10", "10G");
  settle();
  EXPECT_THAT(metrics_.internalText(), HasSubstr(fmt::format(kSeries, "batch-cpu", "43")));
  EXPECT_THAT(metrics_.internalText(), HasSubstr(fmt::format(kSeries, "mid-cpu", "9300")));
}

TEST_F(ControllersTest, StatusWritesArePatchesOfWhatChanged) {
  putConfig("colocation-config", kEnabled);
  putNode("n1");
  start();
  report("n1", "10", "10G");
  settle();
  bool found = false;
  for (const auto& write : cluster_.writes) {
    if (write.resource != "nodes") continue;
    found = true;
    EXPECT_EQ(write.subresource, "status");
    EXPECT_EQ(write.patchType, kube::PatchType::Merge);
    EXPECT_THAT(write.body, HasSubstr("kubernetes.io/batch-cpu"));
    EXPECT_THAT(write.body, testing::Not(HasSubstr(R"("cpu")")));
  }
  EXPECT_TRUE(found);
}

TEST_F(ControllersTest, FailedWritesAreRepeated) {
  putConfig("colocation-config", kEnabled);
  putNode("n1");
  int failures = 5;
  cluster_.failure = [&](const kube::Request& request) -> std::optional<Error> {
    if (request.verb != kube::Verb::Create || request.resource != "nodemetrics" || failures == 0)
      return std::nullopt;
    --failures;
    return Error{ErrorCode::Unavailable, "no answer"};
  };
  start();
  EXPECT_EQ(failures, 0);
  EXPECT_TRUE(cluster_.get(api::NodeMetric::kType, "n1"));
}

TEST_F(ControllersTest, ZonesWhoseWriteFailedAreWrittenSoonAndNotAfterTheNextInterval) {
  cluster_.install(std::filesystem::path(KOORD_DEPLOY) /
                   "crds/topology.node.k8s.io_noderesourcetopologies.yaml");
  putConfig("colocation-config", R"({"enable":true,"updateTimeThresholdSeconds":300})");
  putNode("n1");
  cluster_.put(api::NodeResourceTopology::kType, R"({"metadata":{"name":"n1"},"topologyPolicies":[],
      "zones":[{"name":"node-0","type":"Node","resources":[
      {"name":"cpu","capacity":"100","allocatable":"100","available":"100"},
      {"name":"memory","capacity":"120G","allocatable":"120G","available":"120G"}]}]})");
  int failures = 0;
  bool fails = true;
  cluster_.failure = [&](const kube::Request& asked) -> std::optional<Error> {
    if (!fails || asked.resource != "noderesourcetopologies" || asked.verb != kube::Verb::Patch)
      return std::nullopt;
    ++failures;
    return Error{ErrorCode::Internal, "etcd is away"};
  };
  start();
  report("n1", "11", "11G");
  settle();
  EXPECT_GT(failures, 0);
  fails = false;
  loop_.advance(30s);
  EXPECT_THAT(toJson(*cluster_.get(api::NodeResourceTopology::kType, "n1")),
              HasSubstr("kubernetes.io/batch-cpu"));
}

TEST_F(ControllersTest, ARestartedManagerFindsEverythingAndWritesOnlyWhatIsWrong) {
  putConfig("colocation-config", R"({"enable":true,"cpuReclaimThresholdPercent":65})");
  putNode("n1");
  putPods("n1");
  start();
  report("n1", "33", "33G");
  settle();
  report("n1", "34", "33G");
  settle();
  EXPECT_EQ(allocatable("n1", "kubernetes.io/batch-cpu"), "25k");

  controllers_.reset();
  cluster_.writes.clear();
  start();
  ASSERT_EQ(cluster_.writes.size(), 1u) << "the node's status";
  EXPECT_EQ(allocatable("n1", "kubernetes.io/batch-cpu"), "24k") << "the last write is unknown";
}

TEST_F(ControllersTest, PodsAreFoundByNodeAsTheyComeAndGo) {
  putConfig(
      "colocation-config",
      R"({"enable":true,"cpuReclaimThresholdPercent":100,"cpuCalculatePolicy":"maxUsageRequest"})");
  putNode("n1");
  start();
  report("n1", "1", "1G");
  settle();
  EXPECT_EQ(allocatable("n1", "kubernetes.io/batch-cpu"), "92k");
  putPods("n1");
  report("n1", "1", "1G");
  settle();
  EXPECT_EQ(allocatable("n1", "kubernetes.io/batch-cpu"), "53k") << "40 cores are requested";
  cluster_.remove(api::Pod::kType, "ls", "default");
  report("n1", "1", "1G");
  settle();
  EXPECT_EQ(allocatable("n1", "kubernetes.io/batch-cpu"), "92k");
}

TEST_F(ControllersTest, OnlySelectedControllersRun) {
  options_.controllers = {"*", "-nodeslo"};
  putConfig("colocation-config", kEnabled);
  putNode("n1");
  start();
  EXPECT_TRUE(cluster_.get(api::NodeMetric::kType, "n1"));
  EXPECT_FALSE(cluster_.get(api::NodeSLO::kType, "n1"));
}

TEST(AbsencesTest, WhatIsAskedForAndNotThereIsTold) {
  ManagerOptions options;
  EXPECT_THAT(missingParts(options), IsEmpty());
  ASSERT_TRUE(options.gates.set("ElasticQuotaIgnorePodOverhead=true"));
  EXPECT_THAT(
      missingParts(options),
      testing::ElementsAre("enabled feature gates of features that this version does not have: "
                           "ElasticQuotaIgnorePodOverhead"));
  options.gates = {};
  options.controllers = {"*", "-quotaprofile", "nodeslo", ""};
  options.nodeResourcePlugins = {"BatchResource"};
  EXPECT_THAT(missingParts(options), IsEmpty());
}

}  // namespace
}  // namespace koord::manager
