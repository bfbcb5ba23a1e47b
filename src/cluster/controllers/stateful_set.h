#pragma once

// StatefulSets: pods with fixed names (<set>-0, <set>-1, ...), started in order and given up from
// the last one. A new template replaces them from the last one down to the partition; those below
// it keep the template of the rollout before. Each gets a volume claim of its own per
// volumeClaimTemplate, which stays unless the retention policy says otherwise; volumes for the
// claims are not made here.

#include <map>

#include "api/workloads.h"
#include "cluster/controllers/history.h"
#include "cluster/controllers/pod_control.h"

namespace koord::cluster {

class StatefulSetController {
 public:
  StatefulSetController(kube::Api& api, Executor& executor, kube::Informer<api::StatefulSet>& sets,
                        kube::Informer<api::ControllerRevision>& revisions, PodControl& pods);
  void start() { queue_.start(); }

 private:
  using SetPtr = std::shared_ptr<const api::StatefulSet>;

  // The templates between which the set rolls: of the last complete rollout, and of now.
  struct Revisions {
    RevisionPtr current;
    RevisionPtr update;
  };

  Task<Result<>> sync(std::string key);
  Task<Result<>> createPod(SetPtr set, int ordinal, RevisionPtr revision);
  Task<Result<>> createClaims(SetPtr set, int ordinal);
  Task<Result<>> removeClaims(SetPtr set, int ordinal);
  // The one next step, or none.
  Task<Result<>> step(SetPtr set, std::map<int, PodPtr> pods, Revisions revisions);
  Task<Result<>> report(SetPtr set, std::map<int, PodPtr> pods, Revisions revisions);

  kube::Api& api_;
  Executor& executor_;
  kube::Informer<api::StatefulSet>& sets_;
  PodControl& pods_;
  History history_;
  kube::WorkQueue queue_;
};

}  // namespace koord::cluster
