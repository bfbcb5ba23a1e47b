#pragma once

// StatefulSets: pods with fixed names (<set>-0, <set>-1, ...), started in order and given up from
// the last one. Volumes are not made here.

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
  // The one next step, or none.
  Task<Result<>> step(SetPtr set, std::map<int, PodPtr> pods, std::string revision);
  Task<Result<>> report(SetPtr set, std::map<int, PodPtr> pods, std::string revision);

  kube::Api& api_;
  kube::Informer<api::StatefulSet>& sets_;
  PodControl& pods_;
  kube::WorkQueue queue_;
};

}  // namespace koord::cluster
