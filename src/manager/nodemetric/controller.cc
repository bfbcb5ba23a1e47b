#include "manager/nodemetric/controller.h"

namespace koord::manager {

api::NodeMetricCollectPolicy collectPolicy(const model::ColocationStrategy& strategy,
                                           bool& usable) {
  usable = strategy.enable.value_or(false) && model::validate(strategy);
  const auto from = usable ? strategy : model::defaultColocationStrategy();
  return {from.metricAggregateDurationSeconds, from.metricReportIntervalSeconds,
          from.metricAggregatePolicy, from.metricMemoryCollectPolicy};
}

NodeMetricController::NodeMetricController(kube::Api& api, Executor& executor,
                                           kube::Informer<api::Node>& nodes,
                                           kube::Informer<api::NodeMetric>& nodeMetrics,
                                           ConfigWatcher& config, Metrics& metrics)
    : config_(config),
      metrics_(metrics),
      objects_(
          api, executor, nodes, nodeMetrics,
          {.name = "nodemetric",
           .ready = [this] { return config_.colocation().available(); },
           .specOf = [this](const auto& node,
                            const auto& current) { return specOf(node, current); },
           .count = [this](bool ok, auto reason) { metrics_.nodeMetricReconciled(ok, reason); },
           .queueMetrics = metrics.client()}) {
  config_.onColocationChanged([this] { objects_.enqueueAll(); });
}

std::optional<json::value> NodeMetricController::specOf(const api::Node& node,
                                                        const json::value& current) {
  // While the configuration is invalid, keep the object that an earlier valid one made.
  if (config_.colocation().broken() && !current.is_null()) return std::nullopt;
  bool usable = false;
  api::NodeMetricSpec spec;
  spec.metricCollectPolicy = collectPolicy(config_.colocation().strategyOf(node.metadata), usable);
  metrics_.nodeMetricSpecParsed(usable, "getNodeMetricCollectPolicy");
  return api::encode(spec);
}

}  // namespace koord::manager
