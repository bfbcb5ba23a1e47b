#pragma once

// Selects the pods to evict from a quota that uses more than it is entitled to.
//
//   1. Pods are removed in ascending order of importance (priority, then latest start first), until
//      the quota is within its runtime. Pods that are not preemptible are skipped.
//   2. If that is not enough, all removed pods are evicted. Otherwise, those that fit again are
//      kept, the most important first.
//
// All resources of the quota count, including those that a pod does not request.

#include "scheduler/plugins/elasticquota/quotas.h"

namespace koord::scheduler {

// Returns true if the quota uses more than its stored runtime in any resource.
bool isOverUsed(const Place& place);

// `pods` are the quota's own, in any order; children that use too much are handled separately.
std::vector<PodPtr> toRevoke(const Quotas& quotas, const Place& place, std::vector<PodPtr> pods,
                             WallTime now);

}  // namespace koord::scheduler
