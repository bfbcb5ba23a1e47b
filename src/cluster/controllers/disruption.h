#pragma once

// The status of PodDisruptionBudgets: how many of their pods may be evicted now. An eviction that
// the API server has admitted counts as a disruption (status.disruptedPods) until its pod is
// deleted, for at most two minutes.
//
// maxUnavailable and percentages refer to the sizes of the pods' controllers. Pods without a
// controller do not add to that. A pod whose controller has no size (a Job or DaemonSet) stops all
// evictions.

#include <boost/json/object.hpp>

#include "api/core.h"
#include "api/selector.h"
#include "api/workloads.h"
#include "apiserver/registry/registry.h"
#include "cluster/controllers/pod_control.h"
#include "cluster/controllers/pod_index.h"
#include "kube/work_queue.h"

namespace koord::cluster {

struct DisruptionCounts {
  int expected = 0;  // desired number of pods
  int healthy = 0;   // ready pods
};
// Sets desiredHealthy, disruptionsAllowed and the counts, but neither disruptedPods nor
// observedGeneration.
api::PodDisruptionBudgetStatus disruptionStatus(const api::PodDisruptionBudgetSpec& spec,
                                                DisruptionCounts counts);

class DisruptionController {
 public:
  DisruptionController(kube::Api& api, Executor& executor, const apiserver::Registry& registry,
                       kube::Informer<api::PodDisruptionBudget>& budgets,
                       kube::Informer<api::Pod>& pods, kube::Informer<api::ReplicaSet>& sets,
                       kube::Informer<api::Deployment>& deployments,
                       kube::Informer<api::StatefulSet>& statefulSets, kube::EventRecorder& events);
  void start() { queue_.start(); }

 private:
  using BudgetPtr = std::shared_ptr<const api::PodDisruptionBudget>;

  Task<Result<>> sync(std::string key);
  // spec.replicas of a pod's topmost controller.
  struct Scale {
    std::string uid;
    int replicas = 0;
  };
  std::optional<Scale> knownScale(const api::Pod& pod, const api::OwnerReference& owner) const;
  // Reads the subresource scale from the API server. Fails if the owner has none.
  Task<Result<Scale>> scaleOf(PodPtr pod, api::OwnerReference owner);
  struct Expected {
    int pods = 0;
    bool unmanaged = false;  // some pods have no controller
  };
  Task<Result<Expected>> expectedPods(std::vector<PodPtr> pods);
  Task<Result<>> write(BudgetPtr budget, DisruptionCounts counts, json::object disrupted);
  // Allows no eviction until the next sync, and reports why.
  Task<Result<>> forbid(BudgetPtr budget, std::string why);
  struct Count {
    int healthy = 0;
    json::object disrupted;           // names of evicted pods that still exist, and since when
    std::optional<WallTime> recheck;  // when the first of these stops counting as evicted
  };
  Count count(const api::PodDisruptionBudget& budget, const std::vector<PodPtr>& pods,
              WallTime now) const;

  kube::Api& api_;
  Executor& executor_;
  const apiserver::Registry& registry_;
  kube::Informer<api::PodDisruptionBudget>& budgets_;
  PodIndex pods_;  // by namespace
  kube::Informer<api::ReplicaSet>& sets_;
  kube::Informer<api::Deployment>& deployments_;
  kube::Informer<api::StatefulSet>& statefulSets_;
  kube::EventRecorder& events_;
  kube::WorkQueue queue_;
};

}  // namespace koord::cluster
