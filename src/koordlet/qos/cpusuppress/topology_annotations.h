#pragma once

// What annotations say about CPUs that best effort must not have.

#include "api/meta.h"
#include "base/cpuset.h"
#include "koordlet/qos/cpusuppress/cpuset_policy.h"
#include "koordlet/states/pod_view.h"

namespace koord::koordlet::cpusuppress {

// Of a node: CPUs reserved for what runs outside Kubernetes, and those that the system QoS has to
// itself. What cannot be read excludes nothing.
CpuSet excludedCpus(const api::StringMap& nodeAnnotations);

// The pods that the scheduler pinned to CPUs.
std::vector<PinnedPod> pinnedPods(const std::vector<PodView>& pods);

}  // namespace koord::koordlet::cpusuppress
