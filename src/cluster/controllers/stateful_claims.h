#pragma once

// The volume claims of a StatefulSet's pods, <template>-<set>-<ordinal>: made before the pod (or
// again while it waits), and kept when it goes, unless persistentVolumeClaimRetentionPolicy says
// Delete. Then the set (whenDeleted), or a pod that is about to be given up (whenScaled), owns the
// claim, and the garbage collector takes it along.

#include "api/pod.h"
#include "api/storage.h"
#include "api/workloads.h"
#include "base/task.h"
#include "kube/informer.h"

namespace koord::cluster {

class StatefulClaims {
 public:
  using SetPtr = std::shared_ptr<const api::StatefulSet>;
  using PodPtr = std::shared_ptr<const api::Pod>;

  StatefulClaims(kube::Api& api, kube::Informer<api::PersistentVolumeClaim>& claims)
      : api_(api), claims_(claims) {}

  // Makes those that are missing. False while one of a former pod of this number is still on its
  // way out: the new pod has to wait for that.
  Task<Result<bool>> make(SetPtr set, int ordinal);
  // Gives the pod's claims the owner that the policy wants.
  Task<Result<>> settle(SetPtr set, int ordinal, PodPtr pod, bool givenUp);

 private:
  kube::Api& api_;
  kube::Informer<api::PersistentVolumeClaim>& claims_;
};

// The pod's claims as volumes of the templates' names, in place of what the pod template has there.
void addClaimVolumes(json::object& podSpec, const api::StatefulSet& set, int ordinal);

}  // namespace koord::cluster
