#pragma once

// Deployments: one ReplicaSet per pod template. A new template is rolled out within maxSurge and
// maxUnavailable, or after the old pods are gone (Recreate). A paused Deployment is only scaled. A
// rollout without progress for progressDeadlineSeconds is reported as failed.

#include <string>

#include "api/workloads.h"
#include "cluster/controllers/pod_control.h"
#include "cluster/controllers/rollout.h"
#include "kube/work_queue.h"

namespace koord::cluster {

class DeploymentController {
 public:
  DeploymentController(kube::Api& api, Executor& executor,
                       kube::Informer<api::Deployment>& deployments,
                       kube::Informer<api::ReplicaSet>& sets, PodControl& pods,
                       kube::EventRecorder& events);
  void start() { queue_.start(); }

 private:
  using DeploymentPtr = std::shared_ptr<const api::Deployment>;
  using SetPtr = std::shared_ptr<const api::ReplicaSet>;

  struct Sets {
    SetPtr fresh;             // of the current template, if it exists
    std::vector<SetPtr> old;  // by revision
    std::vector<SetPtr> all() const;
    int newestOld() const;
  };

  Task<Result<>> sync(std::string key);
  // The result of creating the set of a new template: its name, or why it failed.
  struct NewSet {
    std::string made;
    std::string refusal;
  };
  // One step towards the desired state.
  Task<Result<>> act(DeploymentPtr deployment, Sets sets, NewSet* making);
  Task<Result<Sets>> claimSets(DeploymentPtr deployment);
  Task<Result<>> rollOut(DeploymentPtr deployment, Sets sets, NewSet* making);
  // Keeps the sum of all sets at the desired size, without a rollout.
  Task<Result<>> resize(DeploymentPtr deployment, Sets sets);
  Task<Result<>> createSet(DeploymentPtr deployment, int replicas, int revision, NewSet* making);
  // Sets revision, annotations and minReadySeconds of the newest set (if there is one), and the
  // revision of the Deployment.
  Task<Result<>> setRevision(DeploymentPtr deployment, SetPtr set, int revision);
  Task<Result<>> scale(DeploymentPtr deployment, SetPtr set, int replicas);
  Task<Result<>> report(DeploymentPtr deployment, Sets sets, NewSet making);
  Task<Result<>> forgetOld(DeploymentPtr deployment, std::vector<SetPtr> old);
  // Updates the condition Progressing of the new status; schedules a check at the deadline.
  void setProgressing(const api::Deployment& deployment, const api::ReplicaSet* fresh,
                      const NewSet& making, api::DeploymentStatus& status);
  bool hasPods(const std::vector<SetPtr>& sets) const;
  void reportScaled(const api::Deployment& deployment, const std::string& set, int from, int to);

  kube::Api& api_;
  Executor& executor_;
  kube::Informer<api::Deployment>& deployments_;
  kube::Informer<api::ReplicaSet>& sets_;
  PodControl& pods_;
  kube::EventRecorder& events_;
  kube::WorkQueue queue_;
};

}  // namespace koord::cluster
