#include "manager/noderesource/batch_resource.h"

#include <fmt/format.h>

#include <array>

#include "base/time.h"
#include "manager/noderesource/cpu_ratios.h"
#include "manager/noderesource/extended_resources.h"
#include "manager/noderesource/node_usage.h"

namespace koord::manager {

namespace {

constexpr std::array kBatchNames{model::kBatchCpu, model::kBatchMemory};

double shareBeyond(std::optional<std::int64_t> percent, std::int64_t ifAbsent) {
  return static_cast<double>(100 - percent.value_or(ifAbsent)) / 100.0;
}

bool is(const std::optional<std::string>& policy, std::string_view name) {
  return policy == name;
}

// Batch CPU counts in cores of the slowest model.
ResourceTable scaled(ResourceTable table) {
  const auto ratio = normalizationIn(table);
  const auto cpu = table.find(model::kBatchCpu);
  if (ratio && *ratio > 1 && cpu != table.end())
    cpu->second.amount = milliShare(cpu->second.amount, *ratio);
  return table;
}

}  // namespace

BatchTerms batchTerms(const model::ColocationStrategy& strategy, const BatchInputs& inputs) {
  const CpuMemory& capacity = inputs.capacity;
  const CpuMemory& reserved = inputs.reserved;
  const HighPriorityUsage& highPriority = inputs.highPriority;
  const CpuMemory margin = share(capacity, shareBeyond(strategy.cpuReclaimThresholdPercent, 60),
                                 shareBeyond(strategy.memoryReclaimThresholdPercent, 65));
  const CpuMemory systemMax = max(inputs.systemUsed, reserved);

  const CpuMemory zero;
  const CpuMemory byUsage = max(capacity - margin - systemMax - highPriority.used, zero);
  const CpuMemory byRequest = max(capacity - margin - reserved - highPriority.request, zero);
  const CpuMemory byMaxUsageRequest =
      max(capacity - margin - systemMax - highPriority.maxUsageRequest, zero);

  CpuMemory result = byUsage;
  if (is(strategy.cpuCalculatePolicy, "maxUsageRequest")) result.cpu = byMaxUsageRequest.cpu;
  if (is(strategy.memoryCalculatePolicy, "request")) result.memory = byRequest.memory;
  if (is(strategy.memoryCalculatePolicy, "maxUsageRequest"))
    result.memory = byMaxUsageRequest.memory;

  const CpuMemory byPolicy = result;
  if (const auto percent = strategy.batchCPUThresholdPercent)
    result.cpu =
        std::min(result.cpu, milliShare(capacity.cpu, static_cast<double>(*percent) / 100.0));
  if (const auto percent = strategy.batchMemoryThresholdPercent)
    result.memory =
        std::min(result.memory, wholeShare(capacity.memory, static_cast<double>(*percent) / 100.0));
  return {inputs, margin, systemMax, byPolicy, result};
}

CpuMemory systemUsage(const NodeView& view) {
  return measured(view.metric.status.nodeMetric->systemUsage.resources) +
         hostApplicationUsage(view.metric, model::PriorityClass::Batch);
}

BatchInputs batchInputs(const NodeView& view) {
  return {CpuMemory::of(view.node.status.capacity), nodeReserved(view.node), systemUsage(view),
          highPriorityUsage(view)};
}

CpuMemory batchAllocatable(const NodeView& view) {
  return batchOf(view.strategy, batchInputs(view));
}

std::string explainBatchCpu(const NodeView& view) {
  const auto& status = view.metric.status;
  if (!status.updateTime || !status.nodeMetric)
    return "unknown usage: koordlet has not reported yet";
  if (metricIsStale(view))
    return fmt::format(
        "the last report of koordlet is {} old, more than degradeTimeMinutes {}",
        formatDuration(std::chrono::floor<std::chrono::seconds>(view.now - *status.updateTime)),
        view.strategy.degradeTimeMinutes.value_or(15));
  const auto cores = [](const Quantity& amount) {
    return fmt::format("{:.2f}", static_cast<double>(amount.milliValue()) / 1000);
  };
  const auto percent = view.strategy.cpuReclaimThresholdPercent.value_or(60);
  const CpuMemory capacity = CpuMemory::of(view.node.status.capacity);
  const CpuMemory margin = share(capacity, shareBeyond(percent, 60), 0);
  const CpuMemory reserved = nodeReserved(view.node);
  const CpuMemory system = systemUsage(view);
  const HighPriorityUsage services = highPriorityUsage(view);
  const bool byMax = is(view.strategy.cpuCalculatePolicy, "maxUsageRequest");
  return fmt::format("{} cores x {}% = {}, less {} {}, less LS pods {}: {} left",
                     cores(capacity.cpu), percent, cores((capacity - margin).cpu),
                     system.cpu < reserved.cpu ? "reserved" : "system",
                     cores(max(system, reserved).cpu),
                     cores(byMax ? services.maxUsageRequest.cpu : services.used.cpu),
                     cores(batchAllocatable(view).cpu));
}

Result<std::vector<ResourceItem>> BatchResource::calculate(const NodeView& view) const {
  if (metricIsStale(view))
    return reset(
        "degrade node resource because of abnormal nodeMetric, reason: degradedByBatchResource");
  const CpuMemory amounts = batchAllocatable(view);
  const auto policy = [](const std::optional<std::string>& p) { return p.value_or("usage"); };
  return std::vector<ResourceItem>{
      {std::string(model::kBatchCpu), Quantity::of(amounts.cpu.milliValue()), false,
       fmt::format("by policy {}", policy(view.strategy.cpuCalculatePolicy))},
      {std::string(model::kBatchMemory), amounts.memory, false,
       fmt::format("by policy {}", policy(view.strategy.memoryCalculatePolicy))},
  };
}

std::vector<ResourceItem> BatchResource::reset(std::string_view message) const {
  return resetItems(kBatchNames, message);
}

Result<> BatchResource::prepare(const ResourceTable& table, api::Node& copy) const {
  const bool known = writeExtendedResources(scaled(table), kBatchNames, copy);
  if (!known) return {};
  noteOriginalAmounts(kBatchNames, copy);
  return subtractThirdParty(kBatchNames, copy);
}

bool BatchResource::needsWrite(const model::ColocationStrategy& strategy, const api::Node& before,
                               const api::Node& after) const {
  return extendedResourcesDiffer(kBatchNames, strategy.resourceDiffThreshold.value_or(0.1), before,
                                 after);
}

}  // namespace koord::manager
