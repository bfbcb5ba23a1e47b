#pragma once

// ColocationStrategy: how much of a node is offered to batch and mid pods, and how it is measured.
// The section colocation-config of the ConfigMap slo-controller-config, also as a node annotation.

#include "api/slo.h"
#include "base/result.h"

namespace koord::model {

struct ColocationStrategy {
  std::optional<bool> enable;
  std::optional<std::int64_t> metricAggregateDurationSeconds;
  std::optional<std::int64_t> metricReportIntervalSeconds;
  std::optional<api::NodeAggregatePolicy> metricAggregatePolicy;
  std::optional<std::string> metricMemoryCollectPolicy;
  std::optional<std::int64_t> cpuReclaimThresholdPercent;
  std::optional<std::string> cpuCalculatePolicy;  // usage, maxUsageRequest
  std::optional<std::int64_t> memoryReclaimThresholdPercent;
  std::optional<std::string> memoryCalculatePolicy;  // usage, request, maxUsageRequest
  std::optional<std::int64_t> degradeTimeMinutes;
  std::optional<std::int64_t> updateTimeThresholdSeconds;
  std::optional<double> resourceDiffThreshold;
  std::optional<std::string> midReclaimMode;  // static; absent = by prediction
  std::optional<std::int64_t> midCPUThresholdPercent;
  std::optional<std::int64_t> midMemoryThresholdPercent;
  std::optional<std::int64_t> midUnallocatedPercent;
  std::optional<std::int64_t> midStaticCPUReservedPercent;
  std::optional<std::int64_t> midStaticMemoryReservedPercent;
  std::optional<std::int64_t> batchCPUThresholdPercent;
  std::optional<std::int64_t> batchMemoryThresholdPercent;
  json::value extensions;
};

ColocationStrategy defaultColocationStrategy();

// Checks that the values are valid together; the error names the field.
Result<> validate(const ColocationStrategy& strategy);

}  // namespace koord::model
