#pragma once

// LowNodeLoadArgs, read, checked and defaulted.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/selector.h"
#include "base/fields.h"
#include "descheduler/rules/namespaces.h"
#include "descheduler/rules/pod_selectors.h"

namespace koord::descheduler {

using Percentages = std::map<std::string, double, std::less<>>;
using Weights = std::map<std::string, std::int64_t, std::less<>>;

struct AnomalyCondition {
  Duration timeout = std::chrono::minutes(1);
  std::int64_t consecutiveAbnormalities = 5;
  std::int64_t consecutiveNormalities = 3;
};

struct NodePool {
  std::string name;
  std::optional<api::Selector> nodes;  // nullopt: all nodes, also those of earlier pools
  bool useDeviationThresholds = false;
  Percentages low;
  Percentages high;
  Percentages prodLow;
  Percentages prodHigh;
  Weights weights;
  AnomalyCondition anomaly;
};

struct LowNodeLoadArgs {
  bool paused = false;
  bool dryRun = false;
  std::int64_t numberOfNodes = 0;
  Duration expiration = std::chrono::seconds(180);
  Namespaces namespaces;
  PodSelectors pods;
  bool nodeFit = true;
  Duration detectorCacheTimeout = std::chrono::minutes(5);
  std::vector<NodePool> pools;     // the default pool first
  std::vector<std::string> notes;  // warnings about suspicious arguments

  static LowNodeLoadArgs read(Fields& args);
  json::object effective;  // as LowNodeLoadArgs, with all defaults
};

}  // namespace koord::descheduler
