#pragma once

// The resources of pods for /metrics/resources: kube_pod_resource_request and
// kube_pod_resource_limit of every pending or running pod, per resource.

#include <string>

#include "scheduler/core/scheduler.h"

namespace koord::scheduler {

// Prometheus text, built at each call.
std::string podResourceMetrics(const Scheduler& scheduler);

}  // namespace koord::scheduler
