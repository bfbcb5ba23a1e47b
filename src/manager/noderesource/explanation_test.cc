// The terms of the explanation of a node's batch and mid resources add up to the node's values.

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "api/codec.h"
#include "manager/noderesource/batch_resource.h"
#include "manager/noderesource/cpu_ratios.h"
#include "manager/noderesource/explanation.h"
#include "manager/noderesource/mid_resource.h"

namespace koord::manager {
namespace {

using testing::HasSubstr;

constexpr WallTime kNoon = std::chrono::sys_days{std::chrono::year{2026} / 1 / 1};

struct Explained {
  model::ColocationStrategy strategy = model::defaultColocationStrategy();
  api::Node node =
      api::decodeText<api::Node>(
          R"({"metadata":{"name":"n1"},"status":{"capacity":{"cpu":"100","memory":"120G"},
          "allocatable":{"cpu":"96","memory":"110G"}}})")
          .value();
  api::NodeMetric metric =
      api::decodeText<api::NodeMetric>(
          R"({"status":{"nodeMetric":{"nodeUsage":{"resources":{"cpu":"50","memory":"60G"}},
          "systemUsage":{"resources":{"cpu":"7","memory":"12G"}}},
          "prodReclaimableMetric":{"resource":{"resources":{"cpu":"10","memory":"15G"}}},
          "hostApplicationMetric":[{"name":"h","priority":"koord-prod",
            "usage":{"resources":{"cpu":"1","memory":"1G"}}}],
          "podsMetric":[{"namespace":"d","name":"a","podUsage":{"resources":{"cpu":"11","memory":"11G"}}},
            {"namespace":"d","name":"gone","podUsage":{"resources":{"cpu":"3","memory":"2G"}}}]}})")
          .value();
  std::vector<std::shared_ptr<const api::Pod>> pods;
  ResourceTable table;
  bool enabled = true;

  Explained() {
    metric.status.updateTime = kNoon;
    for (const char* name : {"a", "fresh"})
      pods.push_back(std::make_shared<const api::Pod>(
          api::decodeText<api::Pod>(
              fmt::format(
                  R"({{"metadata":{{"namespace":"d","name":"{}"}},"spec":{{"priority":9500,"containers":[
              {{"resources":{{"requests":{{"cpu":"20","memory":"20G"}}}}}}]}},"status":{{"phase":"Running"}}}})",
                  name))
              .value()));
  }
  NodeView view() const { return {strategy, node, metric, pods, kNoon}; }
  json::value explain() {
    for (const Plugin* plugin :
         {static_cast<const Plugin*>(&batch), static_cast<const Plugin*>(&mid)})
      for (auto& item : enabled ? plugin->calculate(view()).value() : plugin->reset("off"))
        table[item.name] = item;
    return explainNode(view(), table, enabled);
  }
  BatchResource batch;
  MidResource mid;
};

const json::value& entryOf(const json::value& answer, std::string_view name) {
  for (const auto& entry : find(answer, "resources")->get_array())
    if (textAt(entry, "name") == name) return entry;
  ADD_FAILURE() << name;
  static const json::value none;
  return none;
}

// Applies the terms as they are written, in cores or bytes.
double sumOf(const json::value& entry) {
  double sum = 0;
  for (const auto& term : find(entry, "terms")->get_array()) {
    const auto sign = textAt(term, "sign");
    const double amount = Quantity::parse(textAt(term, "amount")).value().toDouble();
    if (sign.empty()) sum = amount;
    if (sign == "+") sum += amount;
    if (sign == "-") sum -= amount;
    if (sign == "x") sum *= amount;
    if (sign == "most") sum = std::min(sum, amount);
    if (sign == "least") sum = std::max(sum, amount);
  }
  return sum;
}

void expectThatTermsAddUp(Explained& world) {
  const auto answer = world.explain();
  for (const char* name : {"kubernetes.io/batch-cpu", "kubernetes.io/batch-memory",
                           "kubernetes.io/mid-cpu", "kubernetes.io/mid-memory"}) {
    const auto& entry = entryOf(answer, name);
    const double value = Quantity::parse(textAt(entry, "value")).value().toDouble();
    const bool cpu = std::string_view(name).ends_with("cpu");
    EXPECT_NEAR(sumOf(entry) * (cpu ? 1000 : 1), value, 1) << name << toJson(entry);
  }
}

TEST(Explanation, TermsAddUpToTheValueUnderEveryPolicy) {
  for (const char* cpu : {"usage", "maxUsageRequest"})
    for (const char* memory : {"usage", "request", "maxUsageRequest"})
      for (const char* mid : {"", "static"}) {
        Explained world;
        world.strategy.cpuCalculatePolicy = cpu;
        world.strategy.memoryCalculatePolicy = memory;
        world.strategy.midReclaimMode = mid;
        world.strategy.midStaticCPUReservedPercent = 7;
        world.strategy.midUnallocatedPercent = 10;
        world.strategy.midCPUThresholdPercent = 15;
        SCOPED_TRACE(fmt::format("{} {} {}", cpu, memory, mid));
        expectThatTermsAddUp(world);
      }
}

TEST(Explanation, LimitsRatiosAndOthersSharesAreTerms) {
  Explained world;
  world.strategy.batchCPUThresholdPercent = 20;
  world.node.metadata.annotations["node.koordinator.sh/thirdPartyAllocations"] =
      R"({"allocations":[{"name":"yarn","priority":"koord-batch",
          "resources":{"kubernetes.io/batch-cpu":"1500","kubernetes.io/batch-memory":"1G"}}]})";
  ResourceItem ratio{"CPUNormalization", {}, false, ""};
  ratio.annotations["node.koordinator.sh/cpu-normalization-ratio"] = "1.20";
  world.table["CPUNormalization"] = ratio;
  expectThatTermsAddUp(world);
}

TEST(Explanation, NeverBelowNothing) {
  Explained world;
  world.strategy.cpuReclaimThresholdPercent = 5;
  world.strategy.memoryReclaimThresholdPercent = 5;
  expectThatTermsAddUp(world);
}

TEST(Explanation, NamesTheLargestPods) {
  Explained world;
  const auto answer = world.explain();
  EXPECT_THAT(
      toJson(entryOf(answer, "kubernetes.io/batch-cpu")),
      HasSubstr(R"("largest":[{"pod":"d/fresh","amount":"20"},{"pod":"d/a","amount":"11"})"));
}

TEST(Explanation, SaysWhyNothingIsOffered) {
  Explained world;
  world.metric.status.updateTime = kNoon - std::chrono::minutes(16);
  EXPECT_THAT(std::string(textAt(entryOf(world.explain(), "kubernetes.io/batch-cpu"), "note")),
              HasSubstr("degradeTimeMinutes 15"));
  world.metric.status.updateTime.reset();
  EXPECT_THAT(std::string(textAt(entryOf(world.explain(), "kubernetes.io/mid-cpu"), "note")),
              HasSubstr("koordlet has not reported"));
  world.enabled = false;
  EXPECT_THAT(std::string(textAt(entryOf(world.explain(), "kubernetes.io/mid-cpu"), "note")),
              HasSubstr("co-location is off"));
}

}  // namespace
}  // namespace koord::manager
