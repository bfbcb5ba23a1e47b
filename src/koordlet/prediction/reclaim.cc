#include "koordlet/prediction/reclaim.h"

#include <fmt/format.h>

namespace koord::koordlet::prediction {
namespace {

bool counts(model::PriorityClass priorityClass) {
  return priorityClass == model::PriorityClass::Prod || priorityClass == model::PriorityClass::None;
}

Amount withMargin(Amount amount, const ReclaimOptions& options) {
  const double factor = static_cast<double>(100 + options.safetyMarginPercent) / 100;
  return {static_cast<std::int64_t>(static_cast<double>(amount.milli) * factor),
          static_cast<std::int64_t>(static_cast<double>(amount.bytes) * factor)};
}

Amount within(Amount reclaimable, Amount peak, std::optional<Amount> allocatable) {
  if (!allocatable) return reclaimable;
  return smaller(larger(*allocatable - peak, {}), reclaimable);
}

}  // namespace

Forecast forecastByPod(const std::vector<PodDemand>& pods, const PeakOf& peakOf,
                       const ReclaimOptions& options, std::optional<Amount> allocatable) {
  Amount reclaimable, predicted, unpredicted;
  for (const auto& pod : pods) {
    if (!counts(pod.priorityClass)) continue;
    if (pod.age <= options.coldStart) {
      unpredicted = unpredicted + pod.request;
      continue;
    }
    if (pod.terminating) continue;
    const auto known = peakOf(pod.uid);
    if (!known) {
      unpredicted = unpredicted + pod.request;
      continue;
    }
    const Amount peak = withMargin(*known, options);
    predicted = predicted + peak;
    reclaimable = reclaimable + larger(pod.request - peak, {});
  }
  return {within(reclaimable, predicted, allocatable), predicted + unpredicted};
}

Result<Forecast> forecastByClass(const std::vector<PodDemand>& pods, const PeakOf& peakOf,
                                 const ReclaimOptions& options, std::optional<Amount> allocatable) {
  Amount sum;
  for (const std::string& key : {std::string(kSystemKey), keyOf(model::PriorityClass::Prod),
                                 keyOf(model::PriorityClass::None)}) {
    const auto peak = peakOf(key);
    if (!peak) return fail(ErrorCode::NotFound, fmt::format("no model of {} yet", key));
    sum = sum + *peak;
  }
  const Amount peak = withMargin(sum, options);
  Amount request;
  for (const auto& pod : pods)
    if (counts(pod.priorityClass) && !pod.terminating) request = request + pod.request;
  return Forecast{within(larger(request - peak, {}), peak, allocatable), peak};
}

Forecast leastOf(const Forecast& a, const Forecast& b) {
  return {smaller(a.reclaimable, b.reclaimable), larger(a.peak, b.peak)};
}

}  // namespace koord::koordlet::prediction
