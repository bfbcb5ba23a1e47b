#pragma once

// DaemonSets: one pod on every node that the template selects and tolerates; a new template
// replaces the pods within maxUnavailable (RollingUpdate) or when they are deleted (OnDelete).

#include "api/core.h"
#include "api/workloads.h"
#include "cluster/controllers/history.h"
#include "cluster/controllers/pod_control.h"

namespace koord::cluster {

class DaemonSetController {
 public:
  DaemonSetController(kube::Api& api, Executor& executor, kube::Informer<api::DaemonSet>& sets,
                      kube::Informer<api::ControllerRevision>& revisions,
                      kube::Informer<api::Node>& nodes, PodControl& pods);
  void start() { queue_.start(); }

 private:
  using SetPtr = std::shared_ptr<const api::DaemonSet>;

  Task<Result<>> sync(std::string key);
  Task<Result<>> report(SetPtr set, api::DaemonSetStatus status);

  kube::Api& api_;
  Executor& executor_;
  kube::Informer<api::DaemonSet>& sets_;
  kube::Informer<api::Node>& nodes_;
  PodControl& pods_;
  History history_;
  kube::WorkQueue queue_;
};

}  // namespace koord::cluster
