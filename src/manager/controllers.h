#pragma once

// The controllers and their informers. They run only on the leader: this object lives while the
// process is the leader.

#include <memory>
#include <optional>

#include "kube/component.h"
#include "manager/colocationprofile/controller.h"
#include "manager/colocationprofile/profile_audit.h"
#include "manager/nodemetric/controller.h"
#include "manager/noderesource/controller.h"
#include "manager/nodeslo/controller.h"
#include "manager/options.h"
#include "manager/quotaprofile/controller.h"
#include "manager/recommender/controller.h"

namespace koord::manager {

class Controllers {
 public:
  Controllers(kube::Api& api, Executor& executor, Random& random, const ManagerOptions& options,
              Metrics& metrics);

  void start();
  // nullptr if the controller is off.
  const NodeResourceController* nodeResource() const {
    return nodeResource_ ? &*nodeResource_ : nullptr;
  }
  const RecommenderController* recommender() const {
    return recommender_ ? &*recommender_ : nullptr;
  }

 private:
  kube::EventRecorder events_;
  ConfigWatcher config_;
  kube::Informer<api::Node> nodes_;
  kube::Informer<api::NodeMetric> nodeMetrics_;
  kube::Informer<api::NodeSLO> nodeSlos_;
  kube::Informer<api::Pod> pods_;
  std::optional<NodeMetricController> nodeMetric_;
  std::optional<QuotaProfileController> quotaProfile_;
  std::optional<ColocationProfileController> colocationProfile_;
  std::optional<ProfileAudit> profileAudit_;
  std::optional<NodeSloController> nodeSlo_;
  std::optional<NodeResourceController> nodeResource_;
  std::optional<RecommenderController> recommender_;
};

// The controllers and the plugins of noderesource that this version has.
inline constexpr std::string_view kControllers[] = {
    "colocationprofile", "nodemetric",   "noderesource", "nodeslo",
    "profileaudit",      "quotaprofile", "recommender"};
inline constexpr std::string_view kNodeResourcePlugins[] = {
    "MidResource",           "BatchResource",     "CPUNormalization",
    "ResourceAmplification", "GPUDeviceResource", "RDMADeviceResource"};
// One line for each controller, plugin and gate that is selected, by default or by name, but does
// not exist.
std::vector<std::string> missingParts(const ManagerOptions& options);

// The plugins of the list that exist, in the order in which they run.
std::vector<std::unique_ptr<Plugin>> makePlugins(const std::vector<std::string>& selection,
                                                 const FeatureGates& gates);

}  // namespace koord::manager
