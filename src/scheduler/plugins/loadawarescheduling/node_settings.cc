#include "scheduler/plugins/loadawarescheduling/node_settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace koord::scheduler {

namespace {

Error malformed(const std::vector<std::string>& problems) {
  return {ErrorCode::Invalid, fmt::format("{}", fmt::join(problems, "; ")), {}};
}

std::optional<LoadAmounts> readLimits(const LoadResources& resources, Fields& fields,
                                      std::string_view name) {
  const auto limits = fields.integers(name, 0, kMaxLoad);
  return limits.empty() ? std::nullopt : std::optional(resources.of(limits));
}

}  // namespace

Result<UsageLimits> parseUsageLimits(const LoadResources& resources, std::string_view annotation) {
  const auto document = parseJson(annotation);
  if (!document) return fail(document.error());
  std::vector<std::string> problems;
  Fields fields(&*document, "", problems);
  UsageLimits limits;
  limits.usage = readLimits(resources, fields, "usageThresholds");
  limits.prod = readLimits(resources, fields, "prodUsageThresholds");
  Fields part = fields.object("aggregatedUsage");
  auto aggregated = readLimits(resources, part, "usageThresholds");
  Aggregation of{part.text("usageAggregationType"),
                 part.duration("usageAggregatedDuration", Duration::zero())};
  if (of.span < Duration::zero()) part.error("usageAggregatedDuration", "must not be negative");
  if (aggregated && !of.type.empty()) limits.aggregated = {*std::move(aggregated), std::move(of)};
  if (!problems.empty()) return fail(malformed(problems));
  return limits;
}

Result<LoadAmounts> parseRawAllocatable(const LoadResources& resources,
                                        std::string_view annotation) {
  const auto document = parseJson(annotation);
  if (!document) return fail(document.error());
  LoadAmounts amounts(resources.size(), -1);
  if (document->is_null()) return amounts;
  if (!document->is_object()) return fail(ErrorCode::Invalid, "expected an object of quantities");
  for (const auto& [name, value] : document->get_object()) {
    const auto text = value.is_string() ? std::string(value.get_string()) : toJson(value);
    const auto quantity = Quantity::parse(text);
    if (!quantity) {
      return fail(ErrorCode::Invalid,
                  fmt::format("{}: {}", std::string_view(name), quantity.error().message));
    }
    for (std::size_t i = 0; i < resources.size(); ++i)
      if (resources.name(i) == std::string_view(name))
        amounts[i] = loadAmount(resources.name(i), *quantity);
  }
  return amounts;
}

NodeSettings readSettings(const LoadResources& resources, const api::StringMap& annotations,
                          const std::function<void(std::string)>& problem) {
  NodeSettings settings;
  if (const auto* text = api::findIn(annotations, kAnnotationUsageThresholds)) {
    auto limits = parseUsageLimits(resources, *text);
    if (limits) {
      settings.limits = *std::move(limits);
    } else {
      problem(fmt::format("metadata.annotations[{}]: {}", kAnnotationUsageThresholds,
                          limits.error().message));
    }
  }
  if (const auto* text = api::findIn(annotations, kAnnotationRawAllocatable)) {
    auto raw = parseRawAllocatable(resources, *text);
    if (raw) {
      settings.rawAllocatable = *std::move(raw);
    } else {
      problem(fmt::format("metadata.annotations[{}]: {}", kAnnotationRawAllocatable,
                          raw.error().message));
    }
  }
  return settings;
}

UsageLimits limitsOf(const LoadResources& resources, const LoadAwareSchedulingArgs& args) {
  UsageLimits limits;
  if (!args.usageThresholds.empty()) limits.usage = resources.of(args.usageThresholds);
  if (!args.prodUsageThresholds.empty()) limits.prod = resources.of(args.prodUsageThresholds);
  const auto& aggregated = args.aggregated;
  if (!aggregated.usageThresholds.empty() && !aggregated.usageAggregationType.empty()) {
    limits.aggregated = {resources.of(aggregated.usageThresholds),
                         {aggregated.usageAggregationType, aggregated.usageAggregatedDuration}};
  }
  return limits;
}

}  // namespace koord::scheduler
