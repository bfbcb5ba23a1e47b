#pragma once

// Small questions about claims and volumes that several plugins ask.

#include "api/storage.h"
#include "scheduler/engine/pod_claims.h"
#include "scheduler/framework/events.h"

namespace koord::scheduler {

inline std::string classNameOf(const api::PersistentVolumeClaim& claim) {
  if (const auto* old =
          api::findIn(claim.metadata.annotations, "volume.beta.kubernetes.io/storage-class"))
    return *old;
  return claim.spec.storageClassName.value_or("");
}
inline std::string classNameOf(const api::PersistentVolume& volume) {
  if (const auto* old =
          api::findIn(volume.metadata.annotations, "volume.beta.kubernetes.io/storage-class"))
    return *old;
  return volume.spec.storageClassName;
}

// The volume controller has finished: both sides know each other.
inline bool isFullyBound(const api::PersistentVolumeClaim& claim) {
  return !claim.spec.volumeName.empty() &&
         claim.metadata.annotations.contains("pv.kubernetes.io/bind-completed");
}

inline bool usesClaim(const api::Pod& pod, const api::ObjectMeta& claim) {
  if (pod.metadata.namespace_ != claim.namespace_) return false;
  for (const PodClaim& used : claimsOf(pod))
    if (used.name == claim.name) return true;
  return false;
}

// A queueing hint: the claim that came or changed is one of the pod's.
inline Hint hintOwnClaim(const PodInfo& pod, const ClusterEvent& event) {
  const auto claim = event.after<api::PersistentVolumeClaim>();
  return claim && usesClaim(*pod.pod, claim->metadata) ? Hint::Queue : Hint::Skip;
}

}  // namespace koord::scheduler
