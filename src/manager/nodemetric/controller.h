#pragma once

// The NodeMetric controller: one NodeMetric per Node, whose spec configures koordlet's
// measurements. koordlet writes the status.

#include "api/slo.h"
#include "manager/common/config_watcher.h"
#include "manager/common/metrics.h"
#include "manager/common/node_objects.h"

namespace koord::manager {

// The collect policy of a strategy. Sets `usable` to false if the strategy is disabled or invalid
// and the defaults are returned.
api::NodeMetricCollectPolicy collectPolicy(const model::ColocationStrategy& strategy, bool& usable);

class NodeMetricController {
 public:
  NodeMetricController(kube::Api& api, Executor& executor, kube::Informer<api::Node>& nodes,
                       kube::Informer<api::NodeMetric>& nodeMetrics, ConfigWatcher& config,
                       Metrics& metrics);

 private:
  std::optional<json::value> specOf(const api::Node& node, const json::value& current);

  ConfigWatcher& config_;
  Metrics& metrics_;
  NodeObjectController<api::NodeMetric> objects_;
};

}  // namespace koord::manager
