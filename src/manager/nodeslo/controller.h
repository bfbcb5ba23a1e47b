#pragma once

// The NodeSLO controller: one NodeSLO per Node with koordlet's strategies for the node, from the
// ConfigMap slo-controller-config.

#include "api/slo.h"
#include "manager/common/config_watcher.h"
#include "manager/common/metrics.h"
#include "manager/common/node_objects.h"

namespace koord::manager {

class NodeSloController {
 public:
  NodeSloController(kube::Api& api, Executor& executor, kube::Informer<api::Node>& nodes,
                    kube::Informer<api::NodeSLO>& nodeSlos, ConfigWatcher& config,
                    kube::EventRecorder& events, Metrics& metrics);

 private:
  std::optional<json::value> specOf(const api::Node& node, const json::value& current);

  ConfigWatcher& config_;
  kube::EventRecorder& events_;
  Metrics& metrics_;
  NodeObjectController<api::NodeSLO> objects_;
};

}  // namespace koord::manager
