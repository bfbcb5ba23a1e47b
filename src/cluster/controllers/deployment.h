#pragma once

// Deployments: a ReplicaSet per pod template; a new template is rolled out within maxSurge and
// maxUnavailable, or after the old pods are gone (Recreate). While it is paused only its size is
// kept. A rollout that makes no progress for progressDeadlineSeconds is said to have failed.

#include <map>
#include <string>

#include "api/workloads.h"
#include "cluster/controllers/pod_control.h"
#include "cluster/controllers/rollout.h"

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
    SetPtr fresh;             // of the template as it is now, if there is one
    std::vector<SetPtr> old;  // by revision
    std::vector<SetPtr> all() const;
    int newestOld() const;
  };

  Task<Result<>> sync(std::string key);
  Task<Result<Sets>> claimSets(DeploymentPtr deployment);
  Task<Result<>> rollOut(DeploymentPtr deployment, Sets sets);
  // Keeps the sum of all sets at the size that is wanted; nothing is rolled out.
  Task<Result<>> resize(DeploymentPtr deployment, Sets sets);
  Task<Result<>> createSet(DeploymentPtr deployment, int replicas, int revision);
  // Revision and annotations, on the newest set (if there is one) and the Deployment.
  Task<Result<>> setRevision(DeploymentPtr deployment, SetPtr set, int revision);
  Task<Result<>> scale(DeploymentPtr deployment, SetPtr set, int replicas);
  Task<Result<>> report(DeploymentPtr deployment, Sets sets);
  Task<Result<>> forgetOld(DeploymentPtr deployment, std::vector<SetPtr> old);
  // The condition Progressing; checks again when the deadline comes.
  json::value progressing(const api::Deployment& deployment, const api::ReplicaSet* fresh,
                          bool progress, bool complete);
  bool hasPods(const std::vector<SetPtr>& sets) const;
  void sayScaled(const api::Deployment& deployment, const std::string& set, int from, int to);

  kube::Api& api_;
  Executor& executor_;
  kube::Informer<api::Deployment>& deployments_;
  kube::Informer<api::ReplicaSet>& sets_;
  PodControl& pods_;
  kube::EventRecorder& events_;
  // Of rollouts under way. A restart of this program gives them their whole deadline again.
  struct Progress {
    WallTime time{};
    std::int64_t generation = -1;
  };
  std::map<std::string, Progress> progressAt_;
  kube::WorkQueue queue_;
};

}  // namespace koord::cluster
