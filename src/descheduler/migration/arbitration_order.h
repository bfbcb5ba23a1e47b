#pragma once

// The order in which waiting jobs pass arbitration. Pure.
//
// Jobs without a pod are first, then those of less important pods (rules/pod_order.h); of equally
// important ones the newest job. Pods of one Kubernetes Job are grouped, and Jobs whose pods are
// already moving come first: it is better to disturb one Job as a whole than many a little.

#include <string>
#include <vector>

#include "descheduler/framework/pod.h"
#include "descheduler/migration/job_status.h"

namespace koord::descheduler {

struct WaitingJob {
  JobPtr job;
  PodPtr pod;           // nullptr if it does not exist
  int movingOfJob = 0;  // pods of the same Kubernetes Job that are already moving
};

void orderWaiting(std::vector<WaitingJob>& waiting);

}  // namespace koord::descheduler
