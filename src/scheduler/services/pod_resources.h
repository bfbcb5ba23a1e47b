#pragma once

// What pods ask for, as /metrics/resources tells it: kube_pod_resource_request and
// kube_pod_resource_limit of every pod that is pending or running, per resource.

#include <string>

#include "scheduler/core/scheduler.h"

namespace koord::scheduler {

// Prometheus text, put together anew at each call.
std::string podResourceMetrics(const Scheduler& scheduler);

}  // namespace koord::scheduler
