#pragma once

// DaemonSets: one pod on every node that the template selects and tolerates. A new template
// replaces the pods within maxUnavailable (RollingUpdate) or when they are deleted (OnDelete). A
// failed pod is replaced after a back-off, which doubles with each failure on its node.

#include "api/core.h"
#include "api/workloads.h"
#include "cluster/controllers/daemon_set_plan.h"
#include "cluster/controllers/history.h"
#include "cluster/controllers/pod_control.h"

namespace koord::cluster {

class DaemonSetController {
 public:
  DaemonSetController(kube::Api& api, Executor& executor, kube::Informer<api::DaemonSet>& sets,
                      kube::Informer<api::ControllerRevision>& revisions,
                      kube::Informer<api::Node>& nodes, PodControl& pods,
                      kube::EventRecorder& events);
  void start() { queue_.start(); }

 private:
  using SetPtr = std::shared_ptr<const api::DaemonSet>;

  Task<Result<>> sync(std::string key);
  Task<Result<>> act(SetPtr set, std::string hash, DaemonPlan plan);
  Task<Result<>> removePods(SetPtr set, std::vector<PodPtr> pods);
  // The ended pods whose back-off is over.
  std::vector<PodPtr> due(const api::DaemonSet& set, const DaemonPlan& plan);
  Task<Result<>> report(SetPtr set, api::DaemonSetStatus status);

  kube::Api& api_;
  Executor& executor_;
  kube::Informer<api::DaemonSet>& sets_;
  kube::Informer<api::Node>& nodes_;
  PodControl& pods_;
  kube::EventRecorder& events_;
  // By set, its observed generation and the node: a change of the set resets the back-off.
  struct Backoff {
    Duration pause{};
    SteadyTime last{};
  };
  std::map<std::string, Backoff> failures_;
  History history_;
  kube::WorkQueue queue_;
};

}  // namespace koord::cluster
