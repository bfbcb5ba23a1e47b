#pragma once

// StatefulSets: pods with fixed names (<set>-0, <set>-1, ...), started in order and given up from
// the last one. Each gets a volume claim of its own per volumeClaimTemplate, which stays unless the
// retention policy says otherwise; volumes for the claims are not made here.

#include "api/workloads.h"
#include "cluster/controllers/pod_control.h"
#include "kube/work_queue.h"

namespace koord::cluster {

class StatefulSetController {
 public:
  StatefulSetController(kube::Api& api, Executor& executor, kube::Informer<api::StatefulSet>& sets,
                        PodControl& pods);
  void start() { queue_.start(); }

 private:
  using SetPtr = std::shared_ptr<const api::StatefulSet>;

  Task<Result<>> sync(std::string key);
  Task<Result<>> createPod(SetPtr set, int ordinal, std::string revision);
  Task<Result<>> createClaims(SetPtr set, int ordinal);
  Task<Result<>> removeClaims(SetPtr set, int ordinal);
  // The one next step, or none.
  Task<Result<>> step(SetPtr set, std::map<int, PodPtr> pods, std::string revision);
  Task<Result<>> report(SetPtr set, std::map<int, PodPtr> pods, std::string revision);

  kube::Api& api_;
  Executor& executor_;
  kube::Informer<api::StatefulSet>& sets_;
  PodControl& pods_;
  kube::WorkQueue queue_;
};

}  // namespace koord::cluster
