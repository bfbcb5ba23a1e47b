#pragma once

// In which order waiting jobs are let through. Pure.
//
// Jobs of less important pods first (rules/pod_order.h), those whose pod is missing before all; of equally
// important ones the job that was made last. Pods of one Kubernetes Job are brought together, and those Jobs come
// first of which pods move already: one Job is disturbed as a whole rather than many a little.

#include <string>
#include <vector>

#include "descheduler/framework/pod.h"
#include "descheduler/migration/job_status.h"

namespace koord::descheduler {

struct WaitingJob {
  JobPtr job;
  PodPtr pod;           // nullptr: there is none
  int movingOfJob = 0;  // pods of the same Kubernetes Job that move already
};

void orderWaiting(std::vector<WaitingJob>& waiting);

}  // namespace koord::descheduler
