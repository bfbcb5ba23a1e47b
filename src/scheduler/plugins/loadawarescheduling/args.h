#pragma once

// LoadAwareSchedulingArgs.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "scheduler/config/fields.h"

namespace koord::scheduler {

struct LoadAwareSchedulingArgs {
  using ByResource = std::map<std::string, std::int64_t, std::less<>>;

  bool filterExpiredNodeMetrics = true;
  std::int64_t nodeMetricExpirationSeconds = 180;
  bool enableScheduleWhenNodeMetricsExpired = false;
  ByResource resourceWeights{{"cpu", 1}, {"memory", 1}};
  std::int64_t dominantResourceWeight = 0;
  ByResource usageThresholds{{"cpu", 65}, {"memory", 95}};  // percent; 0 = no limit
  ByResource prodUsageThresholds;
  bool prodUsageIncludeSys = false;
  bool scoreAccordingProdUsage = false;
  ByResource estimatedScalingFactors{{"cpu", 85}, {"memory", 70}};  // percent
  std::optional<std::int64_t> estimatedSecondsAfterPodScheduled;
  std::optional<std::int64_t> estimatedSecondsAfterInitialized;
  bool allowCustomizeEstimation = false;
  struct Aggregated {
    ByResource usageThresholds;
    std::string usageAggregationType;  // avg, p50, p90, p95, p99; "" = none
    Duration usageAggregatedDuration{};
    std::string scoreAggregationType;
    Duration scoreAggregatedDuration{};
  } aggregated;
  std::vector<std::string> supportedResources;

  static LoadAwareSchedulingArgs read(Fields& fields);
};

}  // namespace koord::scheduler
