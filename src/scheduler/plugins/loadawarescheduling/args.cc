#include "scheduler/plugins/loadawarescheduling/args.h"

#include <fmt/format.h>

#include <algorithm>

namespace koord::scheduler {

namespace {

using Args = LoadAwareSchedulingArgs;

constexpr std::int64_t kMaxThreshold = 1'000'000;

std::string readAggregation(Fields& fields, std::string_view name) {
  static constexpr std::string_view kTypes[] = {"", "avg", "p50", "p90", "p95", "p99"};
  std::string type = fields.text(name);
  if (std::ranges::find(kTypes, type) == std::end(kTypes)) {
    fields.error(name, fmt::format("Unsupported value: \"{}\": supported values: avg, p50, p90, "
                                   "p95, p99",
                                   type));
  }
  return type;
}

Duration readSpan(Fields& fields, std::string_view name) {
  const Duration span = fields.duration(name, Duration::zero());
  if (span < Duration::zero()) fields.error(name, "Invalid value: must not be negative");
  return span;
}

Args::Aggregated readAggregated(Fields fields) {
  Args::Aggregated aggregated;
  aggregated.usageThresholds = fields.integers("usageThresholds", 0, 100);
  aggregated.usageAggregationType = readAggregation(fields, "usageAggregationType");
  aggregated.usageAggregatedDuration = readSpan(fields, "usageAggregatedDuration");
  aggregated.scoreAggregationType = readAggregation(fields, "scoreAggregationType");
  aggregated.scoreAggregatedDuration = readSpan(fields, "scoreAggregatedDuration");
  fields.refuseUnknown();
  return aggregated;
}

std::optional<std::int64_t> readSeconds(Fields& fields, std::string_view name) {
  const bool given = fields.has(name);
  const auto seconds = fields.integer(name, 0, INT64_MIN, INT64_MAX);
  return given ? std::optional(seconds) : std::nullopt;
}

}  // namespace

Args Args::read(Fields& fields) {
  Args args;
  args.filterExpiredNodeMetrics = fields.boolean("filterExpiredNodeMetrics", true);
  args.nodeMetricExpirationSeconds =
      fields.integer("nodeMetricExpirationSeconds", 180, 1, INT64_MAX);
  args.enableScheduleWhenNodeMetricsExpired =
      fields.boolean("enableScheduleWhenNodeMetricsExpired", false);
  args.dominantResourceWeight = fields.integer("dominantResourceWeight", 0, 0, 100);
  // Weights may be missing only if just the dominant resource counts.
  if (auto weights = fields.integers("resourceWeights", 1, 100);
      !weights.empty() || args.dominantResourceWeight != 0)
    args.resourceWeights = std::move(weights);
  if (auto thresholds = fields.integers("usageThresholds", 0, 100); !thresholds.empty())
    args.usageThresholds = std::move(thresholds);
  // As upstream, without bounds: a value that is not a percentage rejects no node.
  args.prodUsageThresholds = fields.integers("prodUsageThresholds", INT64_MIN, kMaxThreshold);
  for (auto& [resource, threshold] : args.prodUsageThresholds)
    threshold = std::max<std::int64_t>(threshold, 0);
  args.prodUsageIncludeSys = fields.boolean("prodUsageIncludeSys", false);
  args.scoreAccordingProdUsage = fields.boolean("scoreAccordingProdUsage", false);
  if (const std::string estimator = fields.text("estimator");
      !estimator.empty() && estimator != "defaultEstimator") {
    fields.error(
        "estimator",
        fmt::format("Unsupported value: \"{}\": supported values: defaultEstimator", estimator));
  }
  for (const auto& [resource, factor] : fields.integers("estimatedScalingFactors", 1, 100))
    args.estimatedScalingFactors[resource] = factor;
  for (const auto& [resource, weight] : args.resourceWeights) {
    if (!args.estimatedScalingFactors.contains(resource)) {
      fields.error("estimatedScalingFactors",
                   fmt::format("Not found: \"{}\", which resourceWeights names", resource));
    }
  }
  args.estimatedSecondsAfterPodScheduled = readSeconds(fields, "estimatedSecondsAfterPodScheduled");
  args.estimatedSecondsAfterInitialized = readSeconds(fields, "estimatedSecondsAfterInitialized");
  args.allowCustomizeEstimation = fields.boolean("allowCustomizeEstimation", false);
  args.aggregated = readAggregated(fields.object("aggregated"));
  args.supportedResources = fields.texts("supportedResources");
  fields.refuseUnknown();
  return args;
}

}  // namespace koord::scheduler
