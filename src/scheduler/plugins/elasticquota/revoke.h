#pragma once

// Who has to leave a quota that uses more than it is entitled to.
//
//   1. From the least important on (priority, then who started last), pods are taken off until the quota
//      is within its runtime. Pods that are not preemptible are passed over.
//   2. If that is not enough, all of them leave. Else those that fit again come back, the most important
//      first.
//
// All resources of the quota count, also those that a pod does not ask for.

#include "scheduler/plugins/elasticquota/quotas.h"

namespace koord::scheduler {

// Whether the quota uses more than its stored runtime in some resource.
bool isOverUsed(const Place& place);

// `pods` are the quota's own, in any order; children that use too much are looked at by themselves.
std::vector<PodPtr> toRevoke(const Quotas& quotas, const Place& place, std::vector<PodPtr> pods,
                             WallTime now);

}  // namespace koord::scheduler
