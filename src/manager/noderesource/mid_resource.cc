#include "manager/noderesource/mid_resource.h"

#include <array>

#include "manager/noderesource/extended_resources.h"
#include "manager/noderesource/node_usage.h"
#include "model/priority.h"

namespace koord::manager {

namespace {

using model::PriorityClass;

constexpr std::array kMidNames{model::kMidCpu, model::kMidMemory};

double percent(std::optional<std::int64_t> value, std::int64_t ifAbsent) {
  return static_cast<double>(value.value_or(ifAbsent)) / 100.0;
}

CpuMemory prodRequests(const NodeView& view) {
  CpuMemory sum;
  for (const auto& pod : view.pods) {
    if (!isActive(*pod)) continue;
    const auto priorityClass = model::priorityClassWithDefault(*pod);
    if (priorityClass == PriorityClass::Mid || priorityClass == PriorityClass::Batch ||
        priorityClass == PriorityClass::Free)
      continue;
    sum += requestOf(*pod);
  }
  return sum;
}

}  // namespace

MidTerms midTerms(const NodeView& view) {
  const auto& strategy = view.strategy;
  MidTerms terms;
  terms.capacity = CpuMemory::of(view.node.status.capacity);
  terms.most = share(terms.capacity, percent(strategy.midCPUThresholdPercent, 100),
                     percent(strategy.midMemoryThresholdPercent, 100));
  terms.fixed = strategy.midReclaimMode == "static";
  if (terms.fixed) {
    terms.amounts = min(share(terms.capacity, percent(strategy.midStaticCPUReservedPercent, 0),
                              percent(strategy.midStaticMemoryReservedPercent, 0)),
                        terms.most);
    return terms;
  }

  const CpuMemory zero;
  const auto& status = view.metric.status;
  const auto& usage = status.nodeMetric->nodeUsage.resources;
  const bool known = model::has(usage, model::kCpu) && model::has(usage, model::kMemory);
  if (known) terms.unused = terms.capacity - measured(usage);
  if (status.prodReclaimableMetric)
    terms.reclaimable = CpuMemory::of(status.prodReclaimableMetric->resource.resources);
  const CpuMemory reclaim = max(min(terms.reclaimable, terms.unused), zero);

  terms.system = max(measured(status.nodeMetric->systemUsage.resources) +
                         hostApplicationUsage(view.metric, PriorityClass::Mid),
                     nodeReserved(view.node));
  terms.requested = prodRequests(view);
  const double part = percent(strategy.midUnallocatedPercent, 0);
  terms.unallocated = share(max(terms.capacity - terms.system - terms.requested, zero), part, part);
  terms.amounts = min(reclaim + terms.unallocated, terms.most);
  return terms;
}

Result<std::vector<ResourceItem>> MidResource::calculate(const NodeView& view) const {
  if (metricIsStale(view))
    return reset(
        "degrade node Mid resource because of abnormal nodeMetric, reason: degradedByMidResource");
  const CpuMemory amounts = midAllocatable(view);
  const std::string how = view.strategy.midReclaimMode == "static" ? "static" : "by prediction";
  return std::vector<ResourceItem>{
      {std::string(model::kMidCpu), Quantity::of(amounts.cpu.milliValue()), false, how},
      {std::string(model::kMidMemory), amounts.memory, false, how},
  };
}

std::vector<ResourceItem> MidResource::reset(std::string_view message) const {
  return resetItems(kMidNames, message);
}

Result<> MidResource::prepare(const ResourceTable& table, api::Node& copy) const {
  writeExtendedResources(table, kMidNames, copy);
  return {};
}

bool MidResource::needsWrite(const model::ColocationStrategy& strategy, const api::Node& before,
                             const api::Node& after) const {
  return extendedResourcesDiffer(kMidNames, strategy.resourceDiffThreshold.value_or(0.1), before,
                                 after);
}

}  // namespace koord::manager
