#pragma once

// ReplicaSets: keeps spec.replicas active pods. The status is written even if that fails; the
// condition ReplicaFailure says why pods cannot be created or deleted.

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
  using SetPtr = std::shared_ptr<const api::ReplicaSet>;

  Task<Result<>> sync(std::string key);
  // Creates pods or deletes `active` ones until their number is right.
  Task<Result<>> manage(SetPtr set, std::vector<PodPtr> active);
  std::vector<PodPtr> podsOfDeployment(const api::ReplicaSet& set) const;
  Task<Result<>> report(SetPtr set, std::vector<api::WorkloadCondition> conditions);

  kube::Api& api_;
  Executor& executor_;
  kube::Informer<api::ReplicaSet>& sets_;
  PodControl& pods_;
  kube::WorkQueue queue_;
};

}  // namespace koord::cluster
