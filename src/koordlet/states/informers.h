#pragma once

// Watches this node's Node and NodeSLO objects and keeps States in sync with them.

#include "base/random.h"
#include "koordlet/metrics/metrics.h"
#include "koordlet/states/states.h"
#include "kube/informer.h"

namespace koord::koordlet {

class NodeInformers {
 public:
  NodeInformers(kube::Api& api, Executor& executor, const std::string& nodeName, States& states,
                Metrics& metrics, Random random);
  void start();
  bool synced() const { return node_.synced() && slo_.synced(); }

 private:
  void takeNode(const std::shared_ptr<const api::Node>& node);
  void takeSlo(const std::shared_ptr<const api::NodeSLO>& slo);

  States& states_;
  Metrics& metrics_;
  kube::Informer<api::Node> node_;
  kube::Informer<api::NodeSLO> slo_;
};

// The scope that contains one object.
kube::WatchScope scopeOf(const std::string& name);

}  // namespace koord::koordlet
