#pragma once

// All workload controllers of a one-machine cluster, and the informers that they share. They
// replace kube-controller-manager: the same objects and rules in simple form. ResourceQuotas need
// no controller because the API server accounts for them.

#include <memory>
#include <string>

#include "api/core.h"
#include "apiserver/registry/registry.h"
#include "kube/api.h"
#include "kube/informer.h"

namespace koord::cluster {

class Controllers {
 public:
  // The informers cover all pods and all nodes. The caller shares and starts them.
  Controllers(kube::Api& api, Executor& executor, const apiserver::Registry& registry,
              kube::Informer<api::Pod>& pods, kube::Informer<api::Node>& nodes, Random random);
  ~Controllers();

  // Call before start: the host as a node whose volumes are folders below `folder`. Without it only
  // simulated nodes have volumes.
  void setVolumeHost(std::string node, std::string folder);
  // The controllers act once their informers are synced.
  void start();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace koord::cluster
