#include "manager/nodeslo/controller.h"

namespace koord::manager {

NodeSloController::NodeSloController(kube::Api& api, Executor& executor,
                                     kube::Informer<api::Node>& nodes,
                                     kube::Informer<api::NodeSLO>& nodeSlos, ConfigWatcher& config,
                                     kube::EventRecorder& events, Metrics& metrics)
    : config_(config),
      events_(events),
      metrics_(metrics),
      objects_(api, executor, nodes, nodeSlos,
               {.name = "nodeslo",
                .ready = [this] { return config_.nodeSlo().available(); },
                .specOf = [this](const auto& node,
                                 const auto& current) { return specOf(node, current); },
                .count = [this](bool ok, auto reason) { metrics_.nodeSloReconciled(ok, reason); },
                .queueMetrics = metrics.client()}) {
  config_.onNodeSloChanged([this] { objects_.enqueueAll(); });
}

std::optional<json::value> NodeSloController::specOf(const api::Node& node,
                                                     const json::value& current) {
  const auto old = api::decode<api::NodeSLOSpec>(current);
  std::string problem;
  const auto spec =
      config_.nodeSlo().specOf(node.metadata, old ? *old : api::NodeSLOSpec{}, &problem);
  for (const auto* section :
       {"getResourceThresholdSpec", "getResourceQOSSpec", "getCPUBurstConfigSpec",
        "getHostApplicationConfig", "getNodeSLOExtension"})
    metrics_.nodeSloSpecParsed(true, section);
  metrics_.nodeSloSpecParsed(problem.empty(), "getSystemConfigSpec");
  if (!problem.empty())
    events_.record(kube::referenceTo(api::Node::kType, node.metadata), "Warning",
                   "InvalidNetworkBandwidth", problem + "; the configured bandwidth is used");
  return api::encode(spec);
}

}  // namespace koord::manager
