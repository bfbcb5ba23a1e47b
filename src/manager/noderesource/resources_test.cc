#include <fmt/format.h>
#include <gmock/gmock.h>

#include <limits>

#include "api/codec.h"
#include "manager/noderesource/batch_resource.h"
#include "manager/noderesource/extended_resources.h"
#include "manager/noderesource/mid_resource.h"
#include "manager/noderesource/node_patch.h"
#include "manager/noderesource/node_usage.h"

namespace koord::manager {
namespace {

using testing::HasSubstr;

constexpr WallTime kNow = std::chrono::sys_days{std::chrono::year{2026} / 1 / 1};

template <class T>
T read(std::string_view text) {
  return api::decodeText<T>(text).value();
}

struct NodeWorld {
  model::ColocationStrategy strategy = model::defaultColocationStrategy();
  api::Node node = read<api::Node>(R"({"status":{"capacity":{"cpu":"100","memory":"120G"},
                                               "allocatable":{"cpu":"100","memory":"120G"}}})");
  api::NodeMetric metric = read<api::NodeMetric>(
      R"({"status":{"nodeMetric":{"nodeUsage":{"resources":{"cpu":"50","memory":"60G"}},
                                  "systemUsage":{"resources":{"cpu":"7","memory":"12G"}}}}})");
  std::vector<std::shared_ptr<const api::Pod>> pods;

  NodeWorld() {
    strategy.cpuReclaimThresholdPercent = 65;
    strategy.memoryReclaimThresholdPercent = 65;
    metric.status.updateTime = kNow;
  }

  NodeWorld& pod(std::string name, std::string_view qos, int priority, std::string_view cpu,
                 std::string_view memory, std::string_view usedCpu, std::string_view usedMemory,
                 std::string_view phase = "Running") {
    pods.push_back(std::make_shared<const api::Pod>(read<api::Pod>(fmt::format(
        R"({{"metadata":{{"namespace":"d","name":"{}","labels":{{"koordinator.sh/qosClass":"{}"}}}},
            "spec":{{"priority":{},"containers":[{{"resources":{{"requests":{{"cpu":"{}","memory":"{}"}}}}}}]}},
            "status":{{"phase":"{}"}}}})",
        name, qos, priority, cpu, memory, phase))));
    if (!usedCpu.empty()) metrics(std::move(name), usedCpu, usedMemory, "");
    return *this;
  }
  NodeWorld& metrics(std::string name, std::string_view cpu, std::string_view memory,
                     std::string_view priority) {
    api::PodMetricInfo info;
    info.namespace_ = "d";
    info.name = std::move(name);
    info.priority = priority;
    info.podUsage.resources = {{"cpu", Quantity::parse(cpu).value()},
                               {"memory", Quantity::parse(memory).value()}};
    metric.status.podsMetric.push_back(std::move(info));
    return *this;
  }
  NodeWorld& usualPods() {
    return pod("a", "LS", 9500, "20", "20G", "11", "11G")
        .pod("c", "LS", 9500, "20", "40G", "22", "22G", "Pending")
        .pod("b", "BE", 5500, "10", "10G", "10", "10G");
  }

  NodeView view() const { return {strategy, node, metric, pods, kNow}; }
  std::string batch() const { return describe(BatchResource().calculate(view()).value()); }
  std::string mid() const { return describe(MidResource().calculate(view()).value()); }

  static std::string describe(const std::vector<ResourceItem>& items) {
    std::string text;
    for (const auto& item : items)
      text += (text.empty() ? "" : " / ") + (item.reset ? "reset" : item.amount.toString());
    return text;
  }
};

TEST(BatchResource, LendsWhatLatencySensitivePodsDoNotUse) {
  EXPECT_EQ(NodeWorld().usualPods().batch(), "25k / 33G");
}

TEST(BatchResource, MemoryByRequest) {
  NodeWorld w;
  w.usualPods();
  w.strategy.cpuReclaimThresholdPercent = 70;
  w.strategy.memoryReclaimThresholdPercent = 80;
  w.strategy.memoryCalculatePolicy = "request";
  EXPECT_EQ(w.batch(), "30k / 36G");
  w.strategy.cpuCalculatePolicy = "maxUsageRequest";
  EXPECT_EQ(w.batch(), "21k / 36G");
}

TEST(BatchResource, KubeletReservationCountsLikeSystemUsage) {
  NodeWorld w;
  w.usualPods();
  w.node.status.allocatable = {{"cpu", Quantity::of(90)},
                               {"memory", Quantity::parse("100G").value()}};
  EXPECT_EQ(w.batch(), "22k / 25G");
}

TEST(BatchResource, ThresholdsBeyondTheCapacityAreAllowedAndCanBeCapped) {
  NodeWorld w;
  w.usualPods();
  w.strategy.cpuReclaimThresholdPercent = 150;
  w.strategy.memoryReclaimThresholdPercent = 120;
  w.strategy.cpuCalculatePolicy = "maxUsageRequest";
  w.strategy.memoryCalculatePolicy = "request";
  EXPECT_EQ(w.batch(), "101k / 84G");
  w.strategy.batchCPUThresholdPercent = 100;
  EXPECT_EQ(w.batch(), "100k / 84G");
  // A limit beyond 64 bits means unlimited, not a negative limit.
  w.strategy.batchCPUThresholdPercent = std::numeric_limits<std::int64_t>::max();
  w.strategy.batchMemoryThresholdPercent = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(w.batch(), "101k / 84G");
}

TEST(BatchResource, HostApplicationsCountUnlessTheyAreBatch) {
  NodeWorld w;
  w.usualPods();
  api::HostApplicationMetricInfo app;
  app.usage.resources = {{"cpu", Quantity::of(1)}, {"memory", Quantity::parse("1G").value()}};
  app.priority = "koord-batch";
  w.metric.status.hostApplicationMetric = {app};
  EXPECT_EQ(w.batch(), "25k / 33G");
  w.metric.status.hostApplicationMetric[0].priority = "koord-prod";
  EXPECT_EQ(w.batch(), "24k / 32G");
}

TEST(BatchResource, ExclusivePodsKeepAllTheirCpus) {
  NodeWorld w;
  w.pod("p1", "LSE", 9500, "10", "10G", "5", "5G")
      .pod("p2", "LS", 9500, "8", "8G", "6", "6G")
      .pod("m", "LS", 7500, "30", "30G", "22", "22G");
  EXPECT_EQ(w.batch(), "20k / 33G");
}

TEST(BatchResource, MetricsOfPodsThatAreGoneStillCount) {
  NodeWorld w;
  w.usualPods()
      .metrics("gone", "5", "5G", "koord-prod")
      .metrics("gone-batch", "5", "5G", "koord-batch");
  EXPECT_EQ(w.batch(), "20k / 28G");
}

TEST(BatchResource, TheReservationAnnotationReplacesASmallerSystemUsage) {
  NodeWorld w;
  w.node.metadata.annotations["node.koordinator.sh/reservation"] =
      R"({"resources":{"cpu":"2","memory":"20G"},"reservedCPUs":"0-9"})";
  EXPECT_EQ(w.batch(), "55k / 58G");
  w.node.metadata.annotations["node.koordinator.sh/reservation"] = "{";
  EXPECT_EQ(w.batch(), "58k / 66G");
}

TEST(BatchResource, StaleOrMissingMetricsWithdrawTheResources) {
  NodeWorld w;
  w.usualPods();
  w.metric.status.updateTime = kNow - std::chrono::minutes(15);
  EXPECT_EQ(w.batch(), "25k / 33G");
  w.metric.status.updateTime = kNow - std::chrono::minutes(16);
  EXPECT_EQ(w.batch(), "reset / reset");
  w.metric.status.updateTime = std::nullopt;
  EXPECT_EQ(w.batch(), "reset / reset");
  w.metric.status.updateTime = kNow;
  w.metric.status.nodeMetric.reset();
  EXPECT_EQ(w.batch(), "reset / reset");
  EXPECT_EQ(w.mid(), "reset / reset");
}

TEST(BatchResource, TheDocumentedNodeGivesTheDocumentedAmounts) {
  NodeWorld w;
  w.strategy.cpuReclaimThresholdPercent = 60;
  w.node = read<api::Node>(R"({"metadata":{"annotations":{"node.koordinator.sh/reservation":
      "{\"resources\":{\"cpu\":\"1\"}}"}},"status":{"capacity":{"cpu":"8","memory":"32611012Ki"},
      "allocatable":{"cpu":"7800m","memory":"28629700Ki"}}})");
  w.metric.status.nodeMetric->systemUsage.resources = {{"cpu", Quantity::ofMilli(500)},
                                                       {"memory", Quantity::parse("1Gi").value()}};
  w.pod("p", "LS", 9500, "1", "1Gi", "300m", "17828Ki");
  EXPECT_EQ(w.batch(), "3500 / 17610770228");
}

class MidCases : public testing::Test {
 protected:
  MidCases() {
    w.node = read<api::Node>(R"({"status":{"capacity":{"cpu":"100","memory":"210G"},
                                          "allocatable":{"cpu":"100","memory":"200G"}}})");
    w.metric.status.nodeMetric->systemUsage.resources = {};
    usage("20", "45G");
  }
  void usage(std::string_view cpu, std::string_view memory) {
    w.metric.status.nodeMetric->nodeUsage.resources = list(cpu, memory);
  }
  void reclaimable(std::string_view cpu, std::string_view memory) {
    w.metric.status.prodReclaimableMetric = api::PredictedMetric{{list(cpu, memory), {}}};
  }
  static api::ResourceList list(std::string_view cpu, std::string_view memory) {
    return {{"cpu", Quantity::parse(cpu).value()}, {"memory", Quantity::parse(memory).value()}};
  }
  NodeWorld w;
};

TEST_F(MidCases, ThePredictionIsLent) {
  reclaimable("10", "15G");
  EXPECT_EQ(w.mid(), "10k / 15G");
}

TEST_F(MidCases, UnallocatedResourcesAddAPartUpToTheThreshold) {
  reclaimable("15", "30G");
  w.pod("p", "LS", 9500, "20", "40G", "", "");
  w.strategy.midCPUThresholdPercent = 10;
  w.strategy.midMemoryThresholdPercent = 20;
  w.strategy.midUnallocatedPercent = 10;
  EXPECT_EQ(w.mid(), "10k / 42G");
}

TEST_F(MidCases, NoMoreThanWhatIsUnused) {
  reclaimable("10", "15G");
  usage("95", "205G");
  EXPECT_EQ(w.mid(), "5k / 5G");
}

TEST_F(MidCases, WithoutPredictionNothing) {
  EXPECT_EQ(w.mid(), "0 / 0");
}

TEST_F(MidCases, StaticMode) {
  w.strategy.midReclaimMode = "static";
  w.strategy.midStaticCPUReservedPercent = 10;
  w.strategy.midStaticMemoryReservedPercent = 10;
  EXPECT_EQ(w.mid(), "10k / 21G");
}

ResourceTable table(std::string_view cpu, std::string_view memory) {
  ResourceTable t;
  t["kubernetes.io/batch-cpu"] = {"kubernetes.io/batch-cpu", Quantity::parse(cpu).value(), false,
                                  ""};
  t["kubernetes.io/batch-memory"] = {"kubernetes.io/batch-memory", Quantity::parse(memory).value(),
                                     false, ""};
  return t;
}

TEST(Prepare, ThirdPartyAllocationsAreTakenOffAndTheOriginalIsNoted) {
  api::Node node;
  node.metadata.annotations["node.koordinator.sh/thirdPartyAllocations"] =
      R"({"allocations":[{"name":"hadoop-yarn","priority":"koord-batch","resources":
          {"kubernetes.io/batch-cpu":"10000","kubernetes.io/batch-memory":"10Gi"}},
          {"name":"x","priority":"koord-mid","resources":{"kubernetes.io/batch-cpu":"1"}}]})";
  ASSERT_TRUE(BatchResource().prepare(table("50000", "120Gi"), node));
  EXPECT_EQ(node.status.allocatable["kubernetes.io/batch-cpu"].toString(), "40k");
  EXPECT_EQ(node.status.capacity["kubernetes.io/batch-memory"].toString(), "110Gi");
  EXPECT_EQ(
      node.metadata.annotations["node.koordinator.sh/originExtendedAllocatable"],
      R"({"resources":{"kubernetes.io/batch-cpu":"50k","kubernetes.io/batch-memory":"120Gi"}})");
}

TEST(Prepare, ThirdPartyTextThatCannotBeReadIsAnErrorAndTheFullAmountsStay) {
  api::Node node;
  node.metadata.annotations["node.koordinator.sh/thirdPartyAllocations"] = "[]";
  const auto prepared = BatchResource().prepare(table("500", "1Gi"), node);
  ASSERT_FALSE(prepared);
  EXPECT_THAT(prepared.error().message, HasSubstr("thirdPartyAllocations"));
  EXPECT_EQ(node.status.allocatable["kubernetes.io/batch-cpu"].toString(), "500");
}

TEST(Prepare, FractionsAreRoundedUp) {
  api::Node node;
  ASSERT_TRUE(BatchResource().prepare(table("100.2", "1.5"), node));
  EXPECT_EQ(node.status.allocatable["kubernetes.io/batch-cpu"].toString(), "101");
  EXPECT_EQ(node.status.allocatable["kubernetes.io/batch-memory"].toString(), "2");
}

TEST(NeedsWrite, FollowsTheThreshold) {
  const auto node = [](const char* amount) {
    api::Node n;
    if (*amount) n.status.allocatable["kubernetes.io/batch-cpu"] = Quantity::parse(amount).value();
    return n;
  };
  const auto strategy = model::defaultColocationStrategy();
  const auto differ = [&](const char* before, const char* after) {
    return BatchResource().needsWrite(strategy, node(before), node(after));
  };
  EXPECT_FALSE(differ("20000", "21999"));
  EXPECT_FALSE(differ("20000", "22000"));
  EXPECT_TRUE(differ("20000", "22001"));
  EXPECT_TRUE(differ("20000", "17999"));
  EXPECT_TRUE(differ("0", "1"));
  EXPECT_FALSE(differ("0", "0"));
  EXPECT_TRUE(differ("", "0"));
  EXPECT_TRUE(differ("1", ""));
  EXPECT_FALSE(differ("", ""));
}

TEST(NodePatch, NamesExactlyWhatChanged) {
  auto before = read<api::Node>(R"({"metadata":{"annotations":{"keep":"1","drop":"2"}},
      "status":{"allocatable":{"cpu":"1","x":"5","y":"1000"}}})");
  auto after = before;
  EXPECT_EQ(nodePatch(before, after), std::nullopt);
  after.metadata.annotations.erase("drop");
  after.status.allocatable.erase("x");
  after.status.allocatable["y"] = Quantity::of(2000);
  EXPECT_EQ(
      toJson(*nodePatch(before, after)),
      R"({"metadata":{"annotations":{"drop":null}},"status":{"allocatable":{"y":"2k","x":null}}})");
}

}  // namespace
}  // namespace koord::manager
