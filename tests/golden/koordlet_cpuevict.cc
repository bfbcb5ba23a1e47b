#include "api/slo.h"
#include "golden/checkers.h"
#include "koordlet/qos/cpuevict/satisfaction.h"

namespace koord::golden {
namespace {

namespace evict = koordlet::cpuevict;

Result<json::object> evaluateEviction(const json::object& testCase) {
  const auto whole = [&](std::string_view name) -> std::optional<std::int64_t> {
    const auto* value = testCase.if_contains(name);
    return value ? std::optional(value->to_number<std::int64_t>()) : std::nullopt;
  };
  const auto number = [&](std::string_view name) {
    const auto* value = testCase.if_contains(name);
    return value ? value->to_number<double>() : 0.0;
  };
  api::ResourceThresholdStrategy strategy;
  strategy.cpuEvictBESatisfactionLowerPercent = whole("satisfactionLowerPercent");
  strategy.cpuEvictBESatisfactionUpperPercent = whole("satisfactionUpperPercent");
  const double limit = number("beLimitMilli");
  return json::object{
      {"queryValid", evict::enoughSamples(whole("windowSeconds").value_or(0),
                                          whole("collectIntervalSeconds").value_or(0),
                                          whole("count").value_or(0))},
      {"usageHighEnough",
       evict::usageIsHigh(number("beUsageMilli"), limit, whole("usageThresholdPercent"))},
      {"releaseMilli", evict::toRelease(number("beRequestMilli"), limit, strategy)}};
}

}  // namespace

Checker koordletCpuEvictChecker() {
  return {
      .file = "koordlet_cpuevict",
      .inputs = {"beLimitMilli", "beRequestMilli", "beUsageMilli", "collectIntervalSeconds",
                 "count", "satisfactionLowerPercent", "satisfactionUpperPercent",
                 "usageThresholdPercent", "windowSeconds"},
      .open = [](const json::array&) -> Result<Evaluate> { return evaluateEviction; },
  };
}

}  // namespace koord::golden
