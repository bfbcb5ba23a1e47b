#pragma once

// What annotations say about CPUs that best effort must not have.

#include "api/meta.h"
#include "base/cpuset.h"
#include "koordlet/qos/cpusuppress/cpuset_policy.h"
#include "koordlet/states/pod_view.h"
#include "koordlet/system/cpu_manager_state.h"

namespace koord::koordlet::cpusuppress {

// Of a node: CPUs reserved for what runs outside Kubernetes, and those that the system QoS has to
// itself. What cannot be read excludes nothing. Where only a number of CPUs is reserved, the
// topology says which; nullptr when it is not known.
CpuSet excludedCpus(const api::StringMap& nodeAnnotations, const CpuTopology* topology);

// CPUs that kubelet gave to single pods for good. Pods that Koordinator pins itself do not count:
// kubelet's record of them is wrong.
CpuSet ownedByKubelet(const CpuManagerState& state, const std::vector<PodView>& pods);

// Whether the scheduler chose CPUs or NUMA nodes for the pod.
bool placedByScheduler(const api::Pod& pod);

// The pods that the scheduler pinned to CPUs.
std::vector<PinnedPod> pinnedPods(const std::vector<PodView>& pods);

}  // namespace koord::koordlet::cpusuppress
