#pragma once

// The status of PodDisruptionBudgets: how many of their pods may be evicted now. An eviction that
// the API server has let through counts as a disruption (status.disruptedPods) until its pod is
// seen to go, for two minutes at most.

#include <boost/json/object.hpp>

#include "api/core.h"
#include "api/selector.h"
#include "api/workloads.h"
#include "cluster/controllers/pod_control.h"
#include "kube/work_queue.h"

namespace koord::cluster {

struct DisruptionCounts {
  int expected = 0;  // pods there should be
  int healthy = 0;   // pods that are ready
};
// desiredHealthy, disruptionsAllowed and the counts; disruptedPods and observedGeneration are not
// set.
api::PodDisruptionBudgetStatus disruptionStatus(const api::PodDisruptionBudgetSpec& spec,
                                                DisruptionCounts counts);

class DisruptionController {
 public:
  DisruptionController(kube::Api& api, Executor& executor,
                       kube::Informer<api::PodDisruptionBudget>& budgets,
                       kube::Informer<api::Pod>& pods, kube::Informer<api::ReplicaSet>& sets,
                       kube::Informer<api::Deployment>& deployments,
                       kube::Informer<api::StatefulSet>& statefulSets);
  void start() { queue_.start(); }

 private:
  Task<Result<>> sync(std::string key);
  // spec.replicas of what the pod belongs to in the end, if it is of a kind that has it.
  struct Scale {
    std::string uid;
    int replicas = 0;
  };
  std::optional<Scale> scaleOf(const api::Pod& pod) const;
  struct Count {
    DisruptionCounts pods;
    json::object disrupted;           // evicted and still there: their names, and since when
    std::optional<WallTime> recheck;  // when the first of these counts as staying
  };
  Count count(const api::PodDisruptionBudget& budget, const api::Selector& selector,
              WallTime now) const;

  kube::Api& api_;
  Executor& executor_;
  kube::Informer<api::PodDisruptionBudget>& budgets_;
  kube::Informer<api::Pod>& pods_;
  kube::Informer<api::ReplicaSet>& sets_;
  kube::Informer<api::Deployment>& deployments_;
  kube::Informer<api::StatefulSet>& statefulSets_;
  kube::WorkQueue queue_;
};

}  // namespace koord::cluster
