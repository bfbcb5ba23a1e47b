#include "cluster/simnode/node_metric.h"

#include <algorithm>

#include "model/priority.h"
#include "model/qos.h"

namespace koord::cluster {

using namespace std::chrono_literals;

namespace {

constexpr std::int64_t kDefaultReportSeconds = 60;
constexpr std::int64_t kMinReportSeconds = 30;
constexpr int kSafetyMarginPercent = 10;  // koordlet's default for the predicted peak

api::ResourceMap mapOf(Usage usage) {
  api::ResourceMap map;
  map.resources["cpu"] = Quantity::ofMilli(usage.cpuMilli);
  map.resources["memory"] = Quantity::of(usage.memoryBytes, Quantity::Format::BinarySI);
  return map;
}

void add(Usage& sum, Usage usage) {
  sum.cpuMilli += usage.cpuMilli;
  sum.memoryBytes += usage.memoryBytes;
}

std::vector<api::AggregatedUsage> aggregated(const api::ResourceMap& usage,
                                             const api::NodeMetricSpec& spec) {
  std::vector<api::GoDuration> durations{5min, 10min, 30min};
  if (spec.metricCollectPolicy && spec.metricCollectPolicy->nodeAggregatePolicy)
    durations = spec.metricCollectPolicy->nodeAggregatePolicy->durations;
  std::vector<api::AggregatedUsage> list;
  for (const auto& duration : durations) {
    api::AggregatedUsage entry;
    for (const char* kind : {"avg", "p50", "p90", "p95", "p99"}) entry.usage[kind] = usage;
    entry.duration = duration;
    list.push_back(std::move(entry));
  }
  return list;
}

std::int64_t unused(std::int64_t requested, std::int64_t used) {
  return std::max<std::int64_t>(requested - used * (100 + kSafetyMarginPercent) / 100, 0);
}

}  // namespace

Duration reportInterval(const api::NodeMetricSpec& spec) {
  std::int64_t seconds = kDefaultReportSeconds;
  if (spec.metricCollectPolicy && spec.metricCollectPolicy->reportIntervalSeconds)
    seconds = *spec.metricCollectPolicy->reportIntervalSeconds;
  return std::chrono::seconds(std::max(seconds, kMinReportSeconds));
}

api::NodeMetricStatus nodeMetricStatus(const api::Node& node,
                                       const std::vector<std::shared_ptr<const api::Pod>>& pods,
                                       const api::NodeMetricSpec& spec, WallTime now) {
  api::NodeMetricStatus status;
  status.updateTime = now;
  const Usage system = systemUsageOf(node);
  Usage total = system;
  Usage reclaimable;
  for (const auto& pod : pods) {
    if (pod->status.phase != "Running") continue;
    const Usage usage = usageOf(*pod);
    add(total, usage);
    const auto priority = model::priorityClassWithDefault(*pod);
    if (priority == model::PriorityClass::Prod) {
      const Usage request = requestOf(*pod);
      add(reclaimable, {unused(request.cpuMilli, usage.cpuMilli),
                        unused(request.memoryBytes, usage.memoryBytes)});
    }
    api::PodMetricInfo info;
    info.name = pod->metadata.name;
    info.namespace_ = pod->metadata.namespace_;
    info.podUsage = mapOf(usage);
    info.priority = model::textOf(priority);
    info.qos = model::textOf(model::qosWithDefault(*pod));
    status.podsMetric.push_back(std::move(info));
  }
  std::ranges::sort(status.podsMetric, [](const auto& a, const auto& b) {
    return std::tie(a.namespace_, a.name) < std::tie(b.namespace_, b.name);
  });
  api::NodeMetricInfo info;
  info.nodeUsage = mapOf(total);
  info.systemUsage = mapOf(system);
  info.aggregatedNodeUsages = aggregated(info.nodeUsage, spec);
  info.aggregatedSystemUsages = aggregated(info.systemUsage, spec);
  status.nodeMetric = std::move(info);
  status.prodReclaimableMetric = api::PredictedMetric{mapOf(reclaimable)};
  return status;
}

}  // namespace koord::cluster
