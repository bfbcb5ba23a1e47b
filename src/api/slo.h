#pragma once

// slo.koordinator.sh/v1alpha1: NodeMetric (measured by koordlet) and NodeSLO (the strategies that
// koordlet enforces).

#include "api/meta.h"

namespace koord::api {

struct DeviceUsage {
  std::string type;
  std::string id;
  std::optional<std::int32_t> minor;
  ResourceList resources;
};

struct ResourceMap {
  ResourceList resources;
  std::vector<DeviceUsage> devices;
};

struct NodeAggregatePolicy {
  std::vector<GoDuration> durations;
  bool operator==(const NodeAggregatePolicy&) const = default;
};
struct NodeMetricCollectPolicy {
  std::optional<std::int64_t> aggregateDurationSeconds;
  std::optional<std::int64_t> reportIntervalSeconds;
  std::optional<NodeAggregatePolicy> nodeAggregatePolicy;
  std::optional<std::string> nodeMemoryCollectPolicy;
  bool operator==(const NodeMetricCollectPolicy&) const = default;
};
struct NodeMetricSpec {
  std::optional<NodeMetricCollectPolicy> metricCollectPolicy;
  bool operator==(const NodeMetricSpec&) const = default;
};

struct AggregatedUsage {
  Map<ResourceMap> usage;  // avg, p99, p95, p90, p50
  GoDuration duration;
};
struct NumaUsage {
  std::int32_t numaNodeID = 0;
  ResourceMap nodeUsage;
  ResourceMap systemUsage;
};
struct NodeMetricInfo {
  ResourceMap nodeUsage;
  std::vector<AggregatedUsage> aggregatedNodeUsages;
  ResourceMap systemUsage;
  std::vector<AggregatedUsage> aggregatedSystemUsages;
  std::vector<NumaUsage> numaUsages;
};
struct PodMetricInfo {
  std::string name;
  std::string namespace_;
  ResourceMap podUsage;
  std::string priority;
  std::string qos;
};
struct HostApplicationMetricInfo {
  std::string name;
  ResourceMap usage;
  std::string priority;
  std::string qos;
};
struct PredictedMetric {
  ResourceMap resource;
};
struct NodeMetricStatus {
  Time updateTime;
  std::optional<NodeMetricInfo> nodeMetric;
  std::vector<PodMetricInfo> podsMetric;
  std::vector<HostApplicationMetricInfo> hostApplicationMetric;
  std::optional<PredictedMetric> prodReclaimableMetric;
  std::optional<PredictedMetric> prodPeakMetric;
};
struct NodeMetric {
  static constexpr ResourceType kType{"slo.koordinator.sh", "v1alpha1", "nodemetrics", "NodeMetric",
                                      false};
  ObjectMeta metadata;
  NodeMetricSpec spec;
  NodeMetricStatus status;
};

struct ResourceThresholdStrategy {
  std::optional<bool> enable;
  std::optional<std::int64_t> cpuSuppressThresholdPercent;
  std::optional<std::int64_t> cpuSuppressMinPercent;
  std::optional<std::string> cpuSuppressPolicy;  // cpuset, cfsQuota
  std::optional<std::int64_t> memoryEvictThresholdPercent;
  std::optional<std::int64_t> memoryEvictLowerPercent;
  std::optional<std::int64_t> memoryAllocatableEvictThresholdPercent;
  std::optional<std::int64_t> memoryAllocatableEvictLowerPercent;
  std::optional<std::int64_t> cpuEvictBESatisfactionUpperPercent;
  std::optional<std::int64_t> cpuEvictBESatisfactionLowerPercent;
  std::optional<std::int64_t> cpuEvictBEUsageThresholdPercent;
  std::optional<std::int64_t> cpuEvictTimeWindowSeconds;
  std::optional<std::int64_t> cpuEvictThresholdPercent;
  std::optional<std::int64_t> cpuEvictLowerPercent;
  std::optional<std::int64_t> cpuAllocatableEvictThresholdPercent;
  std::optional<std::int64_t> cpuAllocatableEvictLowerPercent;
  std::optional<std::string> cpuEvictPolicy;  // evictByRealLimit, evictByAllocatable
  std::optional<std::int32_t> evictEnabledPriorityThreshold;
  std::optional<std::int32_t> allocatableEvictPriorityThreshold;
};

// Sections that few components read stay JSON documents.
struct NodeSLOSpec {
  std::optional<ResourceThresholdStrategy> resourceUsedThresholdWithBE;
  json::value resourceQOSStrategy;
  json::value cpuBurstStrategy;
  json::value systemStrategy;
  json::value hostApplications;
  json::value extensions;
};
struct NodeSLO {
  static constexpr ResourceType kType{"slo.koordinator.sh", "v1alpha1", "nodeslos", "NodeSLO",
                                      false};
  ObjectMeta metadata;
  NodeSLOSpec spec;
};

}  // namespace koord::api
