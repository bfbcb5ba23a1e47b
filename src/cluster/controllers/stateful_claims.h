#pragma once

// The volume claims of a StatefulSet's pods, <template>-<set>-<ordinal>. They are created before
// the pod (or again while it waits), and kept after its deletion, unless
// persistentVolumeClaimRetentionPolicy says Delete. Then the set (whenDeleted), or a pod that is
// about to be deleted (whenScaled), owns the claim, and the garbage collector deletes the claim
// with its owner.

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

  // Creates the missing claims. Returns false while a claim of an earlier pod with this ordinal is
  // being deleted: the new pod must wait.
  Task<Result<bool>> make(SetPtr set, int ordinal);
  // Sets the owner of the pod's claims by the policy.
  Task<Result<>> settle(SetPtr set, int ordinal, PodPtr pod, bool isBeingScaledDown);

 private:
  kube::Api& api_;
  kube::Informer<api::PersistentVolumeClaim>& claims_;
};

// Adds the pod's claims as volumes with the templates' names; they replace volumes of the pod
// template.
void addClaimVolumes(json::object& podSpec, const api::StatefulSet& set, int ordinal);

}  // namespace koord::cluster
