#pragma once

// NodeSettings: what annotations of a node say about its load: limits of its own instead of the
// plugin's, and the room that it had before it was amplified.

#include <functional>
#include <optional>

#include "model/node_names.h"
#include "scheduler/plugins/loadawarescheduling/amounts.h"

namespace koord::scheduler {

inline constexpr std::string_view kAnnotationUsageThresholds =
    "scheduling.koordinator.sh/usage-thresholds";
using model::kAnnotationRawAllocatable;

// Usage as koordlet adds it up over a while: of which kind ("p95"), and over how long; 0 = the
// longest while there is.
struct Aggregation {
  std::string type;
  Duration span{};
};

// The most that a node may be loaded, in percent by resource; 0 = no limit. nullopt: not given.
struct UsageLimits {
  std::optional<LoadAmounts> usage;
  std::optional<LoadAmounts> prod;  // of prod pods together
  struct Aggregated {
    LoadAmounts limits;
    Aggregation of;
  };
  std::optional<Aggregated> aggregated;
};

struct NodeSettings {
  UsageLimits limits;
  // By resource; -1: as allocatable says.
  std::optional<LoadAmounts> rawAllocatable;

  bool empty() const {
    return !limits.usage && !limits.prod && !limits.aggregated && !rawAllocatable;
  }
};

// {"usageThresholds": {"cpu": 80}, "prodUsageThresholds": {...}, "aggregatedUsage":
// {"usageThresholds": {...}, "usageAggregationType": "p95", "usageAggregatedDuration": "5m"}}.
// Parts that are empty are not given. Errors name the field.
Result<UsageLimits> parseUsageLimits(const LoadResources& resources, std::string_view annotation);
// {"cpu": "104", "memory": "400Gi"}
Result<LoadAmounts> parseRawAllocatable(const LoadResources& resources,
                                        std::string_view annotation);
// An annotation that is malformed is as if it were not there; `problem` hears of it.
NodeSettings readSettings(const LoadResources& resources, const api::StringMap& annotations,
                          const std::function<void(std::string)>& problem);

UsageLimits limitsOf(const LoadResources& resources, const LoadAwareSchedulingArgs& args);

}  // namespace koord::scheduler
