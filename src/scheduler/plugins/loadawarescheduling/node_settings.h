#pragma once

// NodeSettings: a node's annotations about its load: its own limits in place of the plugin's, and
// its allocatable resources before amplification.

#include <functional>
#include <optional>

#include "model/node_names.h"
#include "scheduler/plugins/loadawarescheduling/amounts.h"

namespace koord::scheduler {

inline constexpr std::string_view kAnnotationUsageThresholds =
    "scheduling.koordinator.sh/usage-thresholds";
using model::kAnnotationRawAllocatable;

// Usage that koordlet aggregates: the kind ("p95") and the duration; 0 = the longest available
// duration.
struct Aggregation {
  std::string type;
  Duration span{};
};

// The limits of a node's load, in percent by resource; 0 = no limit. nullopt: not set.
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
  // By resource; -1: the node's allocatable applies.
  std::optional<LoadAmounts> rawAllocatable;

  bool empty() const {
    return !limits.usage && !limits.prod && !limits.aggregated && !rawAllocatable;
  }
};

// {"usageThresholds": {"cpu": 80}, "prodUsageThresholds": {...}, "aggregatedUsage":
// {"usageThresholds": {...}, "usageAggregationType": "p95", "usageAggregatedDuration": "5m"}}.
// Empty parts count as not set. Errors name the field.
Result<UsageLimits> parseUsageLimits(const LoadResources& resources, std::string_view annotation);
// {"cpu": "104", "memory": "400Gi"}
Result<LoadAmounts> parseRawAllocatable(const LoadResources& resources,
                                        std::string_view annotation);
// An invalid annotation counts as absent; `problem` gets the reason.
NodeSettings readSettings(const LoadResources& resources, const api::StringMap& annotations,
                          const std::function<void(std::string)>& problem);

UsageLimits limitsOf(const LoadResources& resources, const LoadAwareSchedulingArgs& args);

}  // namespace koord::scheduler
