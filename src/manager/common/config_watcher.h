#pragma once

// Follows the ConfigMap slo-controller-config for all controllers: one parsed copy, one Warning
// event for each error, and callbacks for the controllers that must check all nodes again.
//
// A deleted ConfigMap stays in force for half a minute, because a replacement by force is also a
// deletion. Then the defaults apply, as after a restart.

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
  // `fn` is called when the values of some nodes may have changed, also the first time.
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
