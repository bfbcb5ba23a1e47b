#pragma once

// How much of the requests of prod pods will stay unused: the smaller of two estimates.
//
//   by pod:    sum over pods of request - peak, never below 0
//   by class:  requests of all - peak of (system + prod + unclassified pods together)
//
// The first is cautious if pods peak at different times, the second if single pods use less than
// all of them together with the system. Neither exceeds what the node has left. Peaks include a
// safety margin. New pods and pods without a model count with their full request. Rules: upstream's
// peak predictors.

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "koordlet/prediction/models.h"

namespace koord::koordlet::prediction {

struct PodDemand {
  std::string_view uid;  // the pod's own
  model::PriorityClass priorityClass = model::PriorityClass::None;
  Amount request;
  Duration age{0};
  bool terminating = false;  // or terminated
};

struct ReclaimOptions {
  Duration coldStart = std::chrono::hours(24);
  std::int64_t safetyMarginPercent = 10;
};

// Returns the peak of a key's model; nullopt if there is none.
using PeakOf = std::function<std::optional<Amount>(std::string_view key)>;

struct Forecast {
  Amount reclaimable;
  Amount peak;
};

// Without a node's allocatable the result has no upper bound.
Forecast forecastByPod(const std::vector<PodDemand>& pods, const PeakOf& peakOf,
                       const ReclaimOptions& options, std::optional<Amount> allocatable);
// An error names the missing model.
Result<Forecast> forecastByClass(const std::vector<PodDemand>& pods, const PeakOf& peakOf,
                                 const ReclaimOptions& options, std::optional<Amount> allocatable);

// The cautious combination of two forecasts.
Forecast leastOf(const Forecast& a, const Forecast& b);

}  // namespace koord::koordlet::prediction
