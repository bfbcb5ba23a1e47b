#pragma once

// Follows the ConfigMap slo-controller-config for all controllers: one parsed copy, one Warning
// event for what cannot be used, and a call to whoever needs to look at all nodes again.
//
// One that is deleted stays in force for half a minute, since replacing it by force is a deletion, too; then the
// defaults are, as they would be after a restart.

#include <functional>
#include <string>
#include <vector>

#include "kube/events.h"
#include "kube/informer.h"
#include "manager/common/ratio_config.h"
#include "model/slo_config.h"

namespace koord::manager {

class ConfigWatcher {
 public:
  ConfigWatcher(kube::Api& api, Executor& executor, kube::EventRecorder& events,
                std::string configNamespace, std::string configName, Random random);
  ~ConfigWatcher();

  void start() { informer_.start(); }

  const model::ColocationConfig& colocation() const { return colocation_; }
  const model::NodeSloConfig& nodeSlo() const { return nodeSlo_; }
  const RatioConfig& ratios() const { return ratios_; }
  // Called when the values of some nodes may have changed, the first time included.
  void onColocationChanged(std::function<void()> fn) {
    colocationListeners_.push_back(std::move(fn));
  }
  void onRatiosChanged(std::function<void()> fn) { ratioListeners_.push_back(std::move(fn)); }
  void onNodeSloChanged(std::function<void()> fn) { nodeSloListeners_.push_back(std::move(fn)); }

 private:
  void deleted(const api::ConfigMap& configMap);
  void update(const api::ConfigMap* configMap);
  void report(const api::ConfigMap* configMap, const std::vector<model::ConfigProblem>& problems);

  Executor& executor_;
  kube::EventRecorder& events_;
  api::ObjectKey key_;
  TimerId forgetting_ = 0;
  model::ColocationConfig colocation_;
  model::NodeSloConfig nodeSlo_;
  RatioConfig ratios_;
  std::vector<std::function<void()>> colocationListeners_;
  std::vector<std::function<void()>> nodeSloListeners_;
  std::vector<std::function<void()>> ratioListeners_;
  kube::Informer<api::ConfigMap> informer_;
};

}  // namespace koord::manager
