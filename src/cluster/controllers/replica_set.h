#pragma once

// ReplicaSets: as many active pods as spec.replicas says.

#include "api/workloads.h"
#include "cluster/controllers/pod_control.h"
#include "kube/work_queue.h"

namespace koord::cluster {

class ReplicaSetController {
 public:
  ReplicaSetController(kube::Api& api, Executor& executor, kube::Informer<api::ReplicaSet>& sets,
                       PodControl& pods);
  void start() { queue_.start(); }

 private:
  Task<Result<>> sync(std::string key);

  kube::Api& api_;
  Executor& executor_;
  kube::Informer<api::ReplicaSet>& sets_;
  PodControl& pods_;
  kube::WorkQueue queue_;
};

}  // namespace koord::cluster
