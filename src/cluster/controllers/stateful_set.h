#pragma once

// StatefulSets: pods with fixed names (<set>-0, <set>-1, ...), started in order and deleted from
// the last one. A new template replaces them from the last one down to the partition; those below
// it keep the previous template. Each pod gets its own volume claim per volumeClaimTemplate
// (stateful_claims.h).

#include <map>

#include "api/workloads.h"
#include "cluster/controllers/history.h"
#include "cluster/controllers/pod_control.h"
#include "cluster/controllers/stateful_claims.h"
#include "kube/work_queue.h"

namespace koord::cluster {

class StatefulSetController {
 public:
  StatefulSetController(kube::Api& api, Executor& executor, kube::Informer<api::StatefulSet>& sets,
                        kube::Informer<api::ControllerRevision>& revisions,
                        kube::Informer<api::PersistentVolumeClaim>& claims, PodControl& pods);
  void start() { queue_.start(); }

 private:
  using SetPtr = std::shared_ptr<const api::StatefulSet>;

  // The templates of a rollout: that of the last complete rollout, and the current one.
  struct Revisions {
    RevisionPtr current;
    RevisionPtr update;
  };

  Task<Result<>> sync(std::string key);
  Task<Result<>> act(SetPtr set, std::map<int, PodPtr> pods, Revisions revisions);
  Task<Result<>> createPod(SetPtr set, int ordinal, RevisionPtr revision);
  Task<Result<>> settleClaims(SetPtr set, const std::map<int, PodPtr>& pods);
  // Does the next step, if there is one.
  Task<Result<>> step(SetPtr set, std::map<int, PodPtr> pods, Revisions revisions);
  Task<Result<>> report(SetPtr set, std::map<int, PodPtr> pods, Revisions revisions);

  kube::Api& api_;
  Executor& executor_;
  kube::Informer<api::StatefulSet>& sets_;
  PodControl& pods_;
  StatefulClaims claims_;
  History history_;
  kube::WorkQueue queue_;
};

}  // namespace koord::cluster
