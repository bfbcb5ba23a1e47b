#pragma once

// The node resource controller: runs the plugins for a node whenever one of their inputs changes,
// and patches the results into the Node.
//
// Small changes are delayed: the controller writes if a plugin reports a large enough change, or
// updateTimeThresholdSeconds after the last write. Metrics become stale without an event, so nodes
// are also checked at that time.

#include <unordered_map>

#include "kube/work_queue.h"
#include "manager/common/config_watcher.h"
#include "manager/common/metrics.h"
#include "manager/noderesource/batch_zones.h"
#include "manager/noderesource/plugin.h"
#include "manager/noderesource/pod_index.h"

namespace koord::manager {

struct NodeResourceOptions {
  // A node's own strategy can enable co-location if the cluster's disables it; otherwise both must
  // enable it.
  bool nodesDecide = false;
  // The gauge of the nodes' resources has batch-cpu in cores and mid-cpu in milli-cores; otherwise
  // both are in cores.
  bool upstreamUnits = true;
};

class NodeResourceController {
 public:
  NodeResourceController(kube::Api& api, Executor& executor, kube::Informer<api::Node>& nodes,
                         kube::Informer<api::NodeMetric>& nodeMetrics,
                         kube::Informer<api::Pod>& pods, ConfigWatcher& config, Metrics& metrics,
                         Random random, std::vector<std::unique_ptr<Plugin>> plugins,
                         NodeResourceOptions options);
  ~NodeResourceController();

  void start();
  // The current calculation of the node's batch and mid resources (explanation.h). NotFound for an
  // unknown node, Unavailable without a valid configuration.
  Result<json::value> explain(const std::string& node) const;

 private:
  // The state of a node, in memory only.
  struct Record {
    std::optional<SteadyTime> written;  // when the status was last found up to date or written
    std::optional<SteadyTime> due;      // time of the next check
    std::optional<SteadyTime> zonesWritten;
    // Errors of its annotation and of plugins at the last check; each is logged when it appears.
    std::vector<std::string> loggedProblems;
  };

  void startWhenSynced();
  void enqueueAll();
  void enqueueDue();
  Task<Result<>> reconcile(std::string name);
  void fillView(NodeView& view) const;
  bool enabledFor(const model::ColocationStrategy& strategy) const;
  ResourceTable calculate(const NodeView& view, std::vector<std::string>& problems) const;
  // The desired amounts of the zones; nullopt if no write is needed.
  std::optional<ZoneAmounts> zonesToWrite(const NodeView& view, const ResourceTable& table,
                                          double ratio);
  Task<Result<>> writeTopology(std::string name, ZoneAmounts amounts, double ratio);
  void prepare(const ResourceTable& table, api::Node& copy, std::vector<std::string>& problems);
  bool needsWrite(const model::ColocationStrategy& strategy, const api::Node& before,
                  const api::Node& after) const;
  void setDue(Record& record, const NodeView& view, bool heldBack);
  void publish(const std::string& node, const ResourceTable& table);

  kube::Api& api_;
  Executor& executor_;
  kube::Informer<api::Node>& nodes_;
  kube::Informer<api::NodeMetric>& nodeMetrics_;
  kube::Informer<api::Pod>& pods_;
  kube::Informer<api::Device> devices_;
  kube::Informer<api::NodeResourceTopology> topologies_;
  ConfigWatcher& config_;
  Metrics& metrics_;
  NodeResourceOptions options_;
  std::vector<std::unique_ptr<Plugin>> plugins_;
  PodIndex podIndex_;
  std::unordered_map<std::string, Record> records_;
  kube::WorkQueue queue_;
  TimerId dueTimer_ = 0;
};

}  // namespace koord::manager
