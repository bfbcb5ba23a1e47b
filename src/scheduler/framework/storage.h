#pragma once

// Helpers for claims and volumes that several plugins use.

#include "api/storage.h"
#include "scheduler/engine/pod_claims.h"
#include "scheduler/framework/events.h"

namespace koord::scheduler {

using model::classNameOf;
using model::isFullyBound;

inline bool usesClaim(const api::Pod& pod, const api::ObjectMeta& claim) {
  if (pod.metadata.namespace_ != claim.namespace_) return false;
  for (const PodClaim& used : claimsOf(pod))
    if (used.name == claim.name) return true;
  return false;
}

// Queueing hint: Queue if the added or changed claim belongs to the pod.
inline Hint hintOwnClaim(const PodInfo& pod, const ClusterEvent& event) {
  const auto claim = event.after<api::PersistentVolumeClaim>();
  return claim && usesClaim(*pod.pod, claim->metadata) ? Hint::Queue : Hint::Skip;
}

}  // namespace koord::scheduler
