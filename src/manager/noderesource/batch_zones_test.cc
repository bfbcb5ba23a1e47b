#include "manager/noderesource/batch_zones.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "api/codec.h"

namespace koord::manager {
namespace {

using testing::ElementsAre;

constexpr WallTime kToday = std::chrono::sys_days{std::chrono::year{2026} / 1 / 1};

// Two zones of 50 cores each; 62G and 58G.
struct TwoZones {
  model::ColocationStrategy strategy = model::defaultColocationStrategy();
  api::Node node = api::decodeText<api::Node>(
                       R"({"status":{"capacity":{"cpu":"100","memory":"120G"},
                                     "allocatable":{"cpu":"100","memory":"120G"}}})")
                       .value();
  api::NodeMetric metric =
      api::decodeText<api::NodeMetric>(
          R"({"status":{"nodeMetric":{"nodeUsage":{"resources":{"cpu":"50","memory":"60G"}},
                                      "systemUsage":{"resources":{"cpu":"7","memory":"12G"}}}}})")
          .value();
  api::NodeResourceTopology topology = api::decodeText<api::NodeResourceTopology>(
                                           R"({"zones":[{"name":"node-0","type":"Node","resources":[
                {"name":"cpu","capacity":"50","allocatable":"50","available":"50"},
                {"name":"memory","capacity":"62G","allocatable":"62G","available":"62G"}]},
              {"name":"node-1","type":"Node","resources":[
                {"name":"cpu","capacity":"50","allocatable":"50","available":"50"},
                {"name":"memory","capacity":"58G","allocatable":"58G","available":"58G"}]}]})")
                                           .value();
  std::vector<std::shared_ptr<const api::Pod>> pods;

  TwoZones() {
    strategy.cpuReclaimThresholdPercent = 65;
    strategy.memoryReclaimThresholdPercent = 65;
    metric.status.updateTime = kToday;
  }
  void pod(const std::string& name, std::string_view qos, int priority, std::string_view usedCpu,
           std::string_view usedMemory, std::string_view annotations = "{}",
           std::string_view phase = "Running") {
    pods.push_back(std::make_shared<const api::Pod>(
        api::decodeText<api::Pod>(
            fmt::format(
                R"({{"metadata":{{"namespace":"d","name":"{}","labels":{{"koordinator.sh/qosClass":"{}"}},
                "annotations":{}}},"spec":{{"priority":{},"containers":[{{}}]}},"status":{{"phase":"{}"}}}})",
                name, qos, annotations, priority, phase))
            .value()));
    api::PodMetricInfo info;
    info.namespace_ = "d";
    info.name = name;
    info.priority = priority < 6000 ? "koord-batch" : "";
    info.podUsage.resources = {{"cpu", Quantity::parse(usedCpu).value()},
                               {"memory", Quantity::parse(usedMemory).value()}};
    metric.status.podsMetric.push_back(std::move(info));
  }
  void documentedPods() {
    pod("prod", "LS", 9500, "5", "5G",
        R"({"scheduling.koordinator.sh/resource-status":"{\"numaNodeResources\":[{\"node\":0}]}"})");
    pod("prod1", "", 9500, "6", "6G");
    pod("mid", "", 7500, "22", "22G", "{}", "Pending");
    pod("batch", "BE", 5500, "10", "10G");
  }
  NodeView view() const {
    NodeView view{strategy, node, metric, pods, kToday};
    view.topology = &topology;
    view.topologiesKnown = true;
    return view;
  }
  std::vector<std::string> amounts(bool offered = true) const {
    std::vector<std::string> list;
    for (const auto& zone : batchZones(view(), offered))
      list.push_back(zone ? fmt::format("{} / {}", zone->cpu.milliValue(), zone->memory.value())
                          : "none");
    return list;
  }
};

TEST(BatchZones, ZonesAreWorkedOutAsDocumented) {
  TwoZones world;
  world.documentedPods();
  EXPECT_THAT(world.amounts(), ElementsAre("10000 / 15300000000", "15000 / 17700000000"));
}

TEST(BatchZones, AZoneIsKnownByItsNameAndNotByItsPlace) {
  TwoZones world;
  world.documentedPods();
  std::swap(world.topology.zones[0], world.topology.zones[1]);
  EXPECT_THAT(world.amounts(), ElementsAre("15000 / 17700000000", "10000 / 15300000000"));
  world.topology.zones[0].name = "left";
  world.topology.zones[1].name = "node-x";
  EXPECT_EQ(world.amounts()[0].substr(0, 5), "10000") << "otherwise by its place";
}

TEST(BatchZones, WithoutCpuAndMemoryThereIsNothingToSay) {
  TwoZones world;
  for (auto& zone : world.topology.zones) zone.resources.clear();
  EXPECT_TRUE(world.amounts().empty());
}

TEST(BatchZones, WhatIsNotOfferedIsTakenOut) {
  TwoZones world;
  EXPECT_THAT(world.amounts(false), ElementsAre("none", "none"));
  json::value zones = *find(api::encode(world.topology), "zones");
  const json::value before = zones;
  EXPECT_FALSE(writeZones(zones, batchZones(world.view(), false), 1, 0));
  EXPECT_TRUE(writeZones(zones, batchZones(world.view(), true), 1.5, 0.1));
  const json::value& first = zones.as_array()[0].as_object()["resources"].as_array()[1];
  EXPECT_EQ(textAt(first, "name"), "kubernetes.io/batch-cpu") << toJson(zones);
  EXPECT_EQ(textAt(first, "allocatable"), "43500") << "29 cores of the slowest model and a half";
  EXPECT_FALSE(writeZones(zones, batchZones(world.view(), true), 1.45, 0.1)) << "a small change";
  EXPECT_TRUE(writeZones(zones, batchZones(world.view(), true), 1.45, 0));
  EXPECT_TRUE(writeZones(zones, batchZones(world.view(), false), 1, 0.1));
  EXPECT_EQ(zones, before);
}

}  // namespace
}  // namespace koord::manager
