#pragma once

// The node resource controller: runs the plugins for a node whenever something they look at
// changed, and patches what came out into the Node.
//
// Small changes are held back: a write happens when a plugin says that a value moved far enough, or
// when the last write is updateTimeThresholdSeconds ago. Metrics become stale without any event, so
// nodes are also looked at when their time comes.

#include <unordered_map>

#include "kube/work_queue.h"
#include "manager/common/config_watcher.h"
#include "manager/common/metrics.h"
#include "manager/noderesource/batch_zones.h"
#include "manager/noderesource/plugin.h"
#include "manager/noderesource/pod_index.h"

namespace koord::manager {

struct NodeResourceOptions {
  // A node's own strategy can turn co-location on where the cluster's is off; otherwise both must say so.
  bool nodesDecide = false;
  // The gauge of what nodes offer gives batch-cpu in cores and mid-cpu in thousandths; otherwise both are in cores.
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
  // How the node's batch and mid resources come about now (explanation.h); NotFound, and Unavailable
  // while there is no configuration that can be used.
  Result<json::value> explain(const std::string& node) const;

 private:
  // What is remembered of a node, in this process only.
  struct Record {
    std::optional<SteadyTime> written;  // when the status was last found or made right
    std::optional<SteadyTime> due;      // look again then
    std::optional<SteadyTime> zonesWritten;
    std::vector<std::string> told;  // of what is wrong in its annotation
  };

  void startWhenSynced();
  void enqueueAll();
  void lookForDue();
  Task<Result<>> reconcile(std::string name);
  void fillView(NodeView& view) const;
  bool enabledFor(const model::ColocationStrategy& strategy) const;
  ResourceTable calculate(const NodeView& view) const;
  // What the zones should say, when that is worth a write.
  std::optional<ZoneAmounts> zonesToWrite(const NodeView& view, const ResourceTable& table,
                                          double ratio);
  Task<Result<>> writeTopology(std::string name, ZoneAmounts amounts, double ratio);
  void prepare(const ResourceTable& table, api::Node& copy);
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
