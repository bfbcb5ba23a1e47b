#include <fmt/format.h>
#include <gmock/gmock.h>

#include "api/codec.h"
#include "manager/noderesource/cpu_ratios.h"
#include "manager/noderesource/device_resources.h"

namespace koord::manager {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A node with all inputs of the plugins.
struct Surroundings {
  model::ColocationStrategy strategy = model::defaultColocationStrategy();
  api::Node node = api::decodeText<api::Node>(
                       R"({"metadata":{"name":"n"},"status":{"allocatable":{"cpu":"10"}}})")
                       .value();
  api::NodeMetric metric;
  std::vector<std::shared_ptr<const api::Pod>> pods;
  std::optional<api::Device> device;
  std::optional<api::NodeResourceTopology> topology;
  CpuNormalization normalization;
  Amplification amplification;

  NodeView view() const {
    NodeView view{strategy, node, metric, pods, {}};
    view.device = device ? &*device : nullptr;
    view.topology = topology ? &*topology : nullptr;
    view.devicesKnown = view.topologiesKnown = true;
    view.normalization = &normalization;
    view.amplification = &amplification;
    return view;
  }
  api::Node after(const Plugin& plugin, ResourceTable table = {}) const {
    api::Node copy = node;
    auto items = plugin.calculateAfter(table, view());
    if (items)
      for (auto& item : *items) table[item.name] = item;
    EXPECT_TRUE(plugin.prepare(table, copy));
    return copy;
  }
  std::string problem(const Plugin& plugin) const {
    const auto items = plugin.calculate(view());
    return items ? "" : items.error().message;
  }
  void cpu(std::string_view model, bool hyperThread, bool turbo) {
    topology.emplace();
    topology->metadata.annotations["node.koordinator.sh/cpu-basic-info"] =
        fmt::format(R"({{"cpuModel":"{}","hyperThreadEnabled":{},"turboEnabled":{}}})", model,
                    hyperThread, turbo);
  }
};

std::vector<std::string> offered(const api::Node& node) {
  std::vector<std::string> list;
  for (const auto& [name, amount] : node.status.allocatable)
    if (name != "cpu") list.push_back(fmt::format("{}={}", name, amount.toString()));
  return list;
}

constexpr const char* kGpus =
    R"({"metadata":{"name":"n","labels":{"node.koordinator.sh/gpu-model":"A100"}},
    "spec":{"devices":[
      {"type":"gpu","health":true,"minor":0,"resources":{"koordinator.sh/gpu-core":"100","koordinator.sh/gpu-memory":"16Gi","koordinator.sh/gpu-memory-ratio":"100"}},
      {"type":"gpu","health":true,"minor":1,"resources":{"koordinator.sh/gpu-core":"100","koordinator.sh/gpu-memory":"16Gi","koordinator.sh/gpu-memory-ratio":"100"}},
      {"type":"gpu","health":false,"minor":2,"resources":{"koordinator.sh/gpu-core":"100","koordinator.sh/gpu-memory":"16Gi"}},
      {"type":"rdma","health":true,"minor":0},{"type":"rdma","health":true,"minor":1},{"type":"rdma","health":false,"minor":2}]}})";

TEST(DeviceResources, ANodeOffersItsHealthyGpus) {
  Surroundings world;
  world.device = api::decodeText<api::Device>(kGpus).value();
  const api::Node node = world.after(GpuDeviceResource(false));
  EXPECT_THAT(offered(node),
              ElementsAre("koordinator.sh/gpu=200", "koordinator.sh/gpu-core=200",
                          "koordinator.sh/gpu-memory=32Gi", "koordinator.sh/gpu-memory-ratio=200"));
  EXPECT_EQ(node.status.capacity.at("koordinator.sh/gpu").toString(), "200");
  EXPECT_EQ(node.metadata.labels.at("node.koordinator.sh/gpu-model"), "A100");
  EXPECT_TRUE(GpuDeviceResource(false).needsWrite(world.strategy, world.node, node));
  EXPECT_FALSE(GpuDeviceResource(false).needsWrite(world.strategy, node, node));
  EXPECT_THAT(offered(world.after(GpuDeviceResource(true))),
              testing::Contains("koordinator.sh/gpu.shared=200"));
  EXPECT_THAT(offered(world.after(RdmaDeviceResource())), ElementsAre("koordinator.sh/rdma=200"));
}

TEST(DeviceResources, OtherVendorsHaveNoWrapper) {
  Surroundings world;
  world.device = api::decodeText<api::Device>(kGpus).value();
  world.device->metadata.labels["node.koordinator.sh/gpu-vendor"] = "huawei";
  EXPECT_THAT(offered(world.after(GpuDeviceResource(false))),
              testing::Not(testing::Contains("koordinator.sh/gpu=200")));
}

TEST(DeviceResources, WithoutHealthyDevicesNothingIsOffered) {
  Surroundings world;
  world.node.status.allocatable["koordinator.sh/gpu-core"] = Quantity::of(100);
  world.node.status.allocatable["koordinator.sh/rdma"] = Quantity::of(100);
  EXPECT_THAT(offered(world.after(GpuDeviceResource(false))),
              ElementsAre("koordinator.sh/rdma=100"));
  EXPECT_THAT(offered(world.after(RdmaDeviceResource())),
              ElementsAre("koordinator.sh/gpu-core=100"));
  // While the devices are unknown, the node's resources stay.
  NodeView view = world.view();
  view.devicesKnown = false;
  EXPECT_TRUE(GpuDeviceResource(false).calculate(view)->empty());
  EXPECT_TRUE(RdmaDeviceResource().calculate(view)->empty());
}

std::string normalized(const Surroundings& world) {
  const api::Node node = world.after(CpuNormalizationPlugin());
  const auto* text =
      api::findIn(node.metadata.annotations, "node.koordinator.sh/cpu-normalization-ratio");
  return text ? *text : "none";
}

TEST(CpuNormalizationTest, TheRatioIsThatOfTheModelAndOfWhatIsSwitchedOn) {
  Surroundings world;
  EXPECT_EQ(normalized(world), "1.00") << "it is off";
  world.normalization.enabled = true;
  world.normalization.models["Xeon A"] = {1.0, 1.3, 1.2, 1.56};
  world.cpu("Xeon A", true, true);
  EXPECT_EQ(normalized(world), "1.56");
  world.cpu("Xeon A", true, false);
  EXPECT_EQ(normalized(world), "1.30");
  world.cpu("Xeon A", false, true);
  EXPECT_EQ(normalized(world), "1.20");
  world.cpu("Xeon A", false, false);
  EXPECT_EQ(normalized(world), "1.00");
  world.node.metadata.labels["node.koordinator.sh/cpu-normalization-enabled"] = "false";
  world.cpu("Xeon A", true, true);
  EXPECT_EQ(normalized(world), "1.00") << "the node's own label goes first";
}

TEST(CpuNormalizationTest, AnythingWrongLeavesTheAnnotationAndIsNamed) {
  Surroundings world;
  world.node.metadata.annotations["node.koordinator.sh/cpu-normalization-ratio"] = "1.40";
  world.normalization.enabled = true;
  EXPECT_EQ(normalized(world), "1.40");
  EXPECT_THAT(world.problem(CpuNormalizationPlugin()), HasSubstr("NodeResourceTopology"));
  world.cpu("Xeon B", true, true);
  EXPECT_THAT(world.problem(CpuNormalizationPlugin()), HasSubstr("no ratio for CPU Xeon B"));
  world.normalization.defaultRatio = 1.2;
  EXPECT_EQ(normalized(world), "1.20");
  world.normalization.defaultRatio = 5.5;
  EXPECT_THAT(world.problem(CpuNormalizationPlugin()), HasSubstr("not between 1 and 5"));
  EXPECT_EQ(normalized(world), "1.40");
  world.node.metadata.labels["node.koordinator.sh/cpu-normalization-enabled"] = "perhaps";
  EXPECT_THAT(world.problem(CpuNormalizationPlugin()), HasSubstr("cpu-normalization-enabled"));
}

TEST(CpuNormalizationTest, SmallChangesAreNotWorthAWrite) {
  const auto differs = [](std::string_view before, std::string_view after) {
    api::Node a, b;
    if (!before.empty())
      a.metadata.annotations["node.koordinator.sh/cpu-normalization-ratio"] = before;
    if (!after.empty())
      b.metadata.annotations["node.koordinator.sh/cpu-normalization-ratio"] = after;
    return CpuNormalizationPlugin().needsWrite({}, a, b);
  };
  EXPECT_TRUE(differs("", "1.00"));
  EXPECT_FALSE(differs("", ""));
  EXPECT_FALSE(differs("1.20", "1.205"));
  EXPECT_TRUE(differs("1.20", "1.22"));
  EXPECT_TRUE(differs("x", "1.22"));
}

std::string amplified(const Surroundings& world, const ResourceTable& table = {}) {
  const api::Node node = world.after(ResourceAmplification(), table);
  const auto* text =
      api::findIn(node.metadata.annotations, "node.koordinator.sh/resource-amplification-ratio");
  return text ? *text : "none";
}

TEST(ResourceAmplificationTest, NormalizationAndTheConfiguredRatioMultiply) {
  Surroundings world;
  EXPECT_EQ(amplified(world), "none");
  world.amplification.enabled = true;
  world.amplification.ratios = {{"cpu", 1.5}, {"memory", 1.2}};
  EXPECT_EQ(amplified(world), R"({"cpu":1.50,"memory":1.20})");
  world.node.metadata.annotations["node.koordinator.sh/cpu-normalization-ratio"] = "1.20";
  EXPECT_EQ(amplified(world), R"({"cpu":1.80,"memory":1.20})");
  ResourceItem ratio{"CPUNormalization", {}, false, ""};
  ratio.annotations["node.koordinator.sh/cpu-normalization-ratio"] = "2.00";
  EXPECT_EQ(amplified(world, {{"CPUNormalization", ratio}}), R"({"cpu":3.00,"memory":1.20})")
      << "what was worked out in this round counts already";
  world.amplification.enabled = false;
  EXPECT_EQ(amplified(world), R"({"cpu":1.20})");
}

TEST(ResourceAmplificationTest, AnythingWrongLeavesTheAnnotation) {
  Surroundings world;
  world.node.metadata.annotations["node.koordinator.sh/resource-amplification-ratio"] = "{}";
  world.amplification.enabled = true;
  world.amplification.ratios = {{"memory", 0.5}};
  EXPECT_EQ(amplified(world), "{}");
  EXPECT_THAT(world.problem(ResourceAmplification()), HasSubstr("[memory]: 0.5 is less than 1"));
  world.amplification.ratios.clear();
  EXPECT_EQ(amplified(world), "none");
  world.node.metadata.annotations["node.koordinator.sh/cpu-normalization-ratio"] = "fast";
  EXPECT_EQ(amplified(world), "{}");
}

TEST(RatioConfigTest, SectionsAreReadOnTheirOwnAndMergedPerNode) {
  RatioConfig config;
  EXPECT_EQ(config.normalizationOf({}), nullptr) << "nothing is known yet";
  EXPECT_TRUE(config.update(nullptr).changed);
  EXPECT_FALSE(config.normalizationOf({})->enabled);
  api::ConfigMap map;
  map.data["cpu-normalization-config"] =
      R"({"enable":true,"defaultRatio":1.1,"ratioModel":{"A":{"baseRatio":1.5}},
          "nodeConfigs":[{"name":"x","nodeSelector":{"matchLabels":{"pool":"a"}},"defaultRatio":1.3}]})";
  map.data["resource-amplification-config"] = R"({"enable":1})";
  const auto update = config.update(&map);
  ASSERT_EQ(update.problems.size(), 1u);
  EXPECT_EQ(update.problems[0].reason, "ResourceAmplificationCfgUnmarshalFailed");
  EXPECT_THAT(update.problems[0].message, HasSubstr("enable: expected true or false"));
  EXPECT_EQ(config.normalizationOf({})->defaultRatio, 1.1);
  const auto* own = config.normalizationOf({{"pool", "a"}});
  EXPECT_EQ(own->defaultRatio, 1.3);
  EXPECT_TRUE(own->enabled);
  EXPECT_EQ(own->models.at("A").base, 1.5);
  EXPECT_FALSE(config.update(&map).changed);
}

}  // namespace
}  // namespace koord::manager
