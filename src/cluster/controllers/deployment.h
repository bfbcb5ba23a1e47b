#pragma once

// Deployments: a ReplicaSet per pod template; a new template is rolled out within maxSurge and
// maxUnavailable, or after the old pods are gone (Recreate). A rollout that makes no progress for
// progressDeadlineSeconds is said to have failed.

#include <map>
#include <string>

#include "api/workloads.h"
#include "kube/informer.h"
#include "kube/work_queue.h"

namespace koord::cluster {

// How many replicas each ReplicaSet of a Deployment should have next. Pure, for tests.
struct RolloutSet {
  int replicas = 0;  // as specified now
  int available = 0;
};
struct RolloutLimits {
  int desired = 0;
  int maxSurge = 0;
  int maxUnavailable = 0;
};
// The percentages of the strategy resolved: surge is rounded up, unavailable down, never both 0.
RolloutLimits rolloutLimits(const api::DeploymentSpec& spec);
int rollForward(const RolloutLimits& limits, const RolloutSet& fresh,
                const std::vector<RolloutSet>& old);
std::vector<int> scaleDownOld(const RolloutLimits& limits, const RolloutSet& fresh,
                              const std::vector<RolloutSet>& old);

class DeploymentController {
 public:
  DeploymentController(kube::Api& api, Executor& executor,
                       kube::Informer<api::Deployment>& deployments,
                       kube::Informer<api::ReplicaSet>& sets);
  void start() { queue_.start(); }

 private:
  using DeploymentPtr = std::shared_ptr<const api::Deployment>;
  using SetPtr = std::shared_ptr<const api::ReplicaSet>;

  Task<Result<>> sync(std::string key);
  Task<Result<>> createSet(DeploymentPtr deployment, std::string hash, int replicas, int revision);
  Task<Result<>> setRevision(DeploymentPtr deployment, SetPtr set, int revision);
  Task<Result<>> scale(SetPtr set, int replicas);
  Task<Result<>> report(DeploymentPtr deployment, SetPtr fresh, std::vector<SetPtr> all);
  Task<Result<>> forgetOld(DeploymentPtr deployment, std::vector<SetPtr> old);
  // The condition Progressing; checks again when the deadline comes.
  json::value progressing(const api::Deployment& deployment, const api::ReplicaSet* fresh,
                          bool progress, bool complete);
  std::vector<SetPtr> setsOf(const api::Deployment& deployment) const;

  kube::Api& api_;
  Executor& executor_;
  kube::Informer<api::Deployment>& deployments_;
  kube::Informer<api::ReplicaSet>& sets_;
  // Of rollouts under way. A restart of this program gives them their whole deadline again.
  struct Progress {
    WallTime time{};
    std::int64_t generation = -1;
  };
  std::map<std::string, Progress> progressAt_;
  kube::WorkQueue queue_;
};

// A percentage ("25%") or number of `total`.
int resolveIntOrPercent(const api::IntOrString& value, int total, bool roundUp);

}  // namespace koord::cluster
