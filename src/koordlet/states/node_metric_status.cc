#include <fmt/format.h>

#include <algorithm>

#include "koordlet/states/node_metric_reporter.h"
#include "model/priority.h"
#include "model/resources.h"
#include "model/well_known.h"

// Computes NodeMetric's status from samples.

namespace koord::koordlet {
namespace {

using namespace std::chrono_literals;

constexpr int kMaxNumaNodes = 64;

api::ResourceMap amounts(std::int64_t milli, std::int64_t bytes) {
  api::ResourceMap map;
  map.resources["cpu"] = Quantity::ofMilli(milli);
  map.resources["memory"] = Quantity::of(bytes, Quantity::Format::BinarySI);
  return map;
}

api::ResourceMap resourceMap(double cores, double bytes) {
  return amounts(static_cast<std::int64_t>(cores * 1000), static_cast<std::int64_t>(bytes));
}

// Samples of the system begin when the pods are known, those of the node at start. So in the first
// window the average of the part can be above that of the whole.
api::ResourceMap clampTo(api::ResourceMap part, const api::ResourceMap& whole) {
  for (const auto* name : {"cpu", "memory"})
    if (model::amountOf(whole.resources, name) < model::amountOf(part.resources, name))
      part.resources[name] = model::amountOf(whole.resources, name);
  return part;
}

std::string withOwner(std::string_view owner, const std::string& uuid) {
  return owner.empty() ? uuid : fmt::format("{}/{}", owner, uuid);
}

class Windows {
 public:
  Windows(const MetricCache& cache, WallTime now) : cache_(cache), now_(now) {}

  std::optional<api::ResourceMap> averages(Metric cpu, Metric memory, std::string_view subject,
                                           Duration window) const {
    const auto cores = cache_.average(cpu, subject, now_ - window, now_);
    const auto bytes = cache_.average(memory, subject, now_ - window, now_);
    if (!cores || !bytes) return std::nullopt;
    return resourceMap(*cores, *bytes);
  }

  // Usage of each GPU, by a pod or, without one, by all.
  std::vector<api::DeviceUsage> devices(const GpuState& gpus, std::string_view pod,
                                        Duration window) const {
    std::vector<api::DeviceUsage> result;
    if (!gpus.reading) return result;
    const Metric coreMetric = pod.empty() ? Metric::NodeGpuCore : Metric::PodGpuCore;
    const Metric memoryMetric = pod.empty() ? Metric::NodeGpuMemory : Metric::PodGpuMemory;
    for (const auto& gpu : gpus.reading->gpus) {
      const std::string subject = withOwner(pod, gpu.identity.uuid);
      const auto core = cache_.average(coreMetric, subject, now_ - window, now_);
      const auto bytes = cache_.average(memoryMetric, subject, now_ - window, now_);
      if (!core || !bytes || gpu.memoryTotal == 0) continue;
      api::DeviceUsage usage;
      usage.type = "gpu";
      usage.id = gpu.identity.uuid;
      usage.minor = gpu.identity.minor;
      const auto memory = static_cast<std::int64_t>(*bytes);
      const double ratio = 100 * *bytes / static_cast<double>(gpu.memoryTotal);
      usage.resources[model::kGpuCore] = Quantity::of(static_cast<std::int64_t>(*core));
      usage.resources[model::kGpuMemory] = Quantity::of(memory, Quantity::Format::BinarySI);
      usage.resources[model::kGpuMemoryRatio] = Quantity::of(static_cast<std::int64_t>(ratio));
      result.push_back(std::move(usage));
    }
    return result;
  }

  // One entry per window. Without samples over at least half of the window its values are empty: a
  // percentile over one minute must not appear as one over half an hour.
  std::vector<api::AggregatedUsage> aggregated(Metric cpu, Metric memory,
                                               const std::vector<Duration>& windows) const {
    std::vector<api::AggregatedUsage> result;
    for (const Duration window : windows) {
      api::AggregatedUsage usage;
      usage.duration = window;
      for (const auto* type : {"avg", "p50", "p90", "p95", "p99"}) usage.usage[type] = {};
      const auto cores = cache_.aggregates(cpu, "", now_ - window, now_);
      const auto bytes = cache_.aggregates(memory, "", now_ - window, now_);
      if (cores && bytes && cores->span * 2 >= window && bytes->span * 2 >= window) {
        const auto& c = cores->aggregates;
        const auto& b = bytes->aggregates;
        usage.usage["avg"] = resourceMap(c.avg, b.avg);
        usage.usage["p50"] = resourceMap(c.p50, b.p50);
        usage.usage["p90"] = resourceMap(c.p90, b.p90);
        usage.usage["p95"] = resourceMap(c.p95, b.p95);
        usage.usage["p99"] = resourceMap(c.p99, b.p99);
      }
      result.push_back(std::move(usage));
    }
    return result;
  }

 private:
  const MetricCache& cache_;
  WallTime now_;
};

}  // namespace

ReportPolicy reportPolicyOf(const api::NodeMetricSpec& spec) {
  ReportPolicy policy;
  policy.aggregateWindows = {5min, 10min, 30min};
  if (!spec.metricCollectPolicy) return policy;
  const auto& given = *spec.metricCollectPolicy;
  // The cap of one day exceeds all useful windows and prevents overflow.
  const auto seconds = [](std::int64_t value, std::int64_t minimum) {
    return std::chrono::seconds(std::clamp<std::int64_t>(value, minimum, 86'400));
  };
  if (given.reportIntervalSeconds) policy.interval = seconds(*given.reportIntervalSeconds, 30);
  if (given.aggregateDurationSeconds) policy.window = seconds(*given.aggregateDurationSeconds, 60);
  if (given.nodeAggregatePolicy) {
    policy.aggregateWindows.clear();
    for (const auto& duration : given.nodeAggregatePolicy->durations)
      if (duration && *duration > Duration::zero())
        policy.aggregateWindows.push_back(std::min<Duration>(*duration, 24h));
  }
  policy.memoryWithPageCache = given.nodeMemoryCollectPolicy == "usageWithPageCache";
  policy.memoryWithHotPages = given.nodeMemoryCollectPolicy == "usageWithHotPageCache";
  return policy;
}

// The series of memory that a policy reports.
struct MemorySeries {
  Metric node = Metric::NodeMemory, pod = Metric::PodMemory, application = Metric::HostAppMemory;
};

MemorySeries memorySeriesOf(const ReportPolicy& policy, const MetricCache& cache, WallTime now) {
  if (policy.memoryWithPageCache)
    return {Metric::NodeMemoryWithPageCache, Metric::PodMemoryWithPageCache,
            Metric::HostAppMemoryWithPageCache};
  if (policy.memoryWithHotPages &&
      cache.last(Metric::NodeMemoryWithHotPages, "", now - policy.window, now))
    return {Metric::NodeMemoryWithHotPages, Metric::PodMemoryWithHotPages,
            Metric::HostAppMemoryWithHotPages};
  return {};
}

void addForecast(const std::optional<ProdForecast>& forecast, api::NodeMetricStatus& status) {
  // Present and empty while there is no prediction, as upstream.
  status.prodReclaimableMetric.emplace();
  if (!forecast) return;
  status.prodReclaimableMetric->resource =
      amounts(forecast->reclaimableMilli, forecast->reclaimableBytes);
  status.prodPeakMetric.emplace().resource = amounts(forecast->peakMilli, forecast->peakBytes);
}

// Omits nodes without samples. The system's usage of a node is optional.
std::vector<api::NumaUsage> numaUsages(const Windows& windows, Duration window) {
  std::vector<api::NumaUsage> usages;
  for (int node = 0; node < kMaxNumaNodes; ++node) {
    const std::string name = std::to_string(node);
    auto used = windows.averages(Metric::NumaCpu, Metric::NumaMemory, name, window);
    if (!used) continue;
    api::NumaUsage usage{node, *std::move(used), {}};
    if (auto system =
            windows.averages(Metric::NumaSystemCpu, Metric::NumaSystemMemory, name, window))
      usage.systemUsage = *std::move(system);
    usages.push_back(std::move(usage));
  }
  return usages;
}

std::optional<api::NodeMetricStatus> nodeMetricStatus(const ReportPolicy& policy,
                                                      const MetricCache& cache,
                                                      const States& states, WallTime now) {
  const MemorySeries memory = memorySeriesOf(policy, cache, now);
  const Windows windows(cache, now);
  auto node = windows.averages(Metric::NodeCpu, memory.node, "", policy.window);
  if (!node) return std::nullopt;

  api::NodeMetricStatus status;
  status.updateTime = now;
  api::NodeMetricInfo& info = status.nodeMetric.emplace();
  info.nodeUsage = *std::move(node);
  info.nodeUsage.devices = windows.devices(states.gpus(), "", policy.window);
  info.aggregatedNodeUsages =
      windows.aggregated(Metric::NodeCpu, memory.node, policy.aggregateWindows);
  if (auto system = windows.averages(Metric::SystemCpu, Metric::SystemMemory, "", policy.window))
    info.systemUsage = clampTo(*std::move(system), info.nodeUsage);
  info.aggregatedSystemUsages =
      windows.aggregated(Metric::SystemCpu, Metric::SystemMemory, policy.aggregateWindows);
  info.numaUsages = numaUsages(windows, policy.window);

  for (const auto& view : states.pods()) {
    auto usage = windows.averages(Metric::PodCpu, memory.pod, view.uid(), policy.window);
    if (!usage) continue;
    api::PodMetricInfo pod;
    pod.name = view.pod->metadata.name;
    pod.namespace_ = view.pod->metadata.namespace_;
    pod.podUsage = *std::move(usage);
    pod.podUsage.devices = windows.devices(states.gpus(), view.uid(), policy.window);
    pod.priority = model::textOf(model::priorityClassWithDefault(*view.pod));
    pod.qos = model::textOf(model::qosWithDefault(*view.pod));
    status.podsMetric.push_back(std::move(pod));
  }
  std::ranges::sort(status.podsMetric, {}, [](const api::PodMetricInfo& pod) {
    return std::tie(pod.namespace_, pod.name);
  });

  if (states.slo()) {
    for (const auto& application : states.slo()->hostApplications) {
      auto usage =
          windows.averages(Metric::HostAppCpu, memory.application, application.name, policy.window);
      if (!usage) continue;
      status.hostApplicationMetric.push_back(
          {application.name, *std::move(usage), application.priority, application.qos});
    }
    std::ranges::sort(status.hostApplicationMetric, {}, &api::HostApplicationMetricInfo::name);
  }
  return status;
}

}  // namespace koord::koordlet
