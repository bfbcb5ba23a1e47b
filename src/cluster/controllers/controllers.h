#pragma once

// All workload controllers of a one-machine cluster, with the informers they share. They stand in
// for kube-controller-manager: the same objects and rules in simple form. ResourceQuotas need none,
// the API server accounts for them itself.

#include <memory>
#include <string>

#include "api/core.h"
#include "apiserver/registry/registry.h"
#include "kube/api.h"
#include "kube/informer.h"

namespace koord::cluster {

class Controllers {
 public:
  // The informers cover all pods and all nodes; they are shared with others, who start them.
  Controllers(kube::Api& api, Executor& executor, const apiserver::Registry& registry,
              kube::Informer<api::Pod>& pods, kube::Informer<api::Node>& nodes, Random random);
  ~Controllers();

  // Before start: this machine as a node whose volumes are folders below `folder`. Without it there
  // are volumes of simulated nodes only.
  void setVolumeHost(std::string node, std::string folder);
  // The controllers begin to act once their informers are synced.
  void start();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace koord::cluster
