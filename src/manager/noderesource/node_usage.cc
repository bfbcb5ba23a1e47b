#include "manager/noderesource/node_usage.h"

#include <algorithm>
#include <unordered_map>

#include "api/codec.h"
#include "manager/common/names.h"
#include "model/node_reservation.h"
#include "model/pod_requests.h"
#include "model/priority.h"
#include "model/qos.h"

namespace koord::manager {

using model::PriorityClass;

std::optional<WallTime> staleAfter(const NodeView& view) {
  const auto& status = view.metric.status;
  if (!status.updateTime || !status.nodeMetric) return std::nullopt;
  // A time plus more would overflow.
  constexpr std::int64_t kLongest = 100LL * 365 * 24 * 60;
  return *status.updateTime +
         std::chrono::minutes(std::min(view.strategy.degradeTimeMinutes.value_or(15), kLongest));
}

bool metricIsStale(const NodeView& view) {
  const auto end = staleAfter(view);
  return !end || view.now > *end;
}

CpuMemory nodeReserved(const api::Node& node) {
  const CpuMemory zero;
  CpuMemory allocatable = CpuMemory::of(node.status.allocatable);
  // For an amplified node, the amounts before amplification.
  if (const auto* text = api::findIn(node.metadata.annotations, kAnnotationRawAllocatable))
    if (const auto raw = api::decodeText<api::ResourceList>(*text, api::Reading::Go)) {
      if (model::has(*raw, model::kCpu)) allocatable.cpu = model::amountOf(*raw, model::kCpu);
      if (model::has(*raw, model::kMemory))
        allocatable.memory = model::amountOf(*raw, model::kMemory);
    }
  const CpuMemory byKubelet = max(CpuMemory::of(node.status.capacity) - allocatable, zero);
  return max(byKubelet, CpuMemory::of(model::reservedResources(node.metadata.annotations)));
}

CpuMemory hostApplicationUsage(const api::NodeMetric& metric, PriorityClass than) {
  CpuMemory sum;
  for (const auto& application : metric.status.hostApplicationMetric) {
    const auto priority = model::defaultValueOf(model::parsePriorityClass(application.priority));
    if (priority > model::defaultValueOf(than)) sum += measured(application.usage.resources);
  }
  return sum;
}

CpuMemory requestOf(const api::Pod& pod) {
  return CpuMemory::of(model::podRequests(pod));
}

bool isActive(const api::Pod& pod) {
  return pod.status.phase == "Running" || pod.status.phase == "Pending";
}

void visitHighPriority(const NodeView& view, const UsageVisitor& visit) {
  struct Metric {
    const api::PodMetricInfo* info;
    bool ofKnownPod = false;
  };
  std::unordered_map<api::ObjectKey, Metric> metrics;
  for (const auto& info : view.metric.status.podsMetric)
    metrics[{info.namespace_, info.name}] = {&info};

  const auto yields = [](PriorityClass c) {
    return c == PriorityClass::Batch || c == PriorityClass::Free;
  };
  for (const auto& pod : view.pods) {
    if (!isActive(*pod)) continue;
    const auto metric = metrics.find(api::keyOf(pod->metadata));
    if (metric != metrics.end()) metric->second.ofKnownPod = true;
    if (yields(model::priorityClassWithDefault(*pod))) continue;

    const CpuMemory request = requestOf(*pod);
    if (metric == metrics.end()) {
      visit(pod.get(), {request, request, {}});
      continue;
    }
    const CpuMemory used = measured(metric->second.info->podUsage.resources);
    const bool exclusive = model::qosWithDefault(*pod) == model::Qos::LSE;
    visit(pod.get(),
          {request, exclusive ? CpuMemory{request.cpu, used.memory} : used, max(request, used)});
  }
  // Measured, but deleted or finished since: it may still use the measured amounts.
  for (const auto& [key, metric] : metrics) {
    if (metric.ofKnownPod || yields(model::parsePriorityClass(metric.info->priority))) continue;
    const CpuMemory used = measured(metric.info->podUsage.resources);
    visit(nullptr, {{}, used, used});
  }
}

HighPriorityUsage highPriorityUsage(const NodeView& view) {
  HighPriorityUsage sum;
  visitHighPriority(view, [&sum](const api::Pod*, const HighPriorityUsage& part) {
    sum.request += part.request;
    sum.used += part.used;
    sum.maxUsageRequest += part.maxUsageRequest;
  });
  return sum;
}

}  // namespace koord::manager
