#pragma once

// How much of what prod pods requested they will not need: the least that two views agree on.
//
//   by pod:    sum over pods of request - peak, never below 0
//   by class:  requests of all - peak of (system + prod + unclassified pods together)
//
// The first is cautious where pods peak at different times, the second where single pods are
// quieter than all of them together with the system. Neither gives more than the node has left.
// Peaks have a margin of safety on top. Pods that are too young to be known, or have no model,
// count with all of their request. Rules: upstream's peak predictors.

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

// The peak of a key's model; nullopt when there is none.
using PeakOf = std::function<std::optional<Amount>(std::string_view key)>;

struct Forecast {
  Amount reclaimable;
  Amount peak;
};

// Without a node's allocatable there is nothing that it is held against.
Forecast forecastByPod(const std::vector<PodDemand>& pods, const PeakOf& peakOf,
                       const ReclaimOptions& options, std::optional<Amount> allocatable);
// An error names the model that is missing.
Result<Forecast> forecastByClass(const std::vector<PodDemand>& pods, const PeakOf& peakOf,
                                 const ReclaimOptions& options, std::optional<Amount> allocatable);

}  // namespace koord::koordlet::prediction
