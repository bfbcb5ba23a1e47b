#pragma once

// Annotations about CPUs that BE pods must not have.

#include "api/meta.h"
#include "base/cpuset.h"
#include "koordlet/qos/cpusuppress/cpuset_policy.h"
#include "koordlet/states/pod_view.h"
#include "koordlet/system/cpu_manager_state.h"

namespace koord::koordlet::cpusuppress {

// From a node's annotations: CPUs reserved for processes outside of Kubernetes, and the exclusive
// CPUs of the system QoS. A malformed annotation excludes nothing. If only a number of CPUs is
// reserved, the topology determines which; nullptr if it is not known.
CpuSet excludedCpus(const api::StringMap& nodeAnnotations, const CpuTopology* topology);

// CPUs that kubelet assigned to single pods exclusively. Pods that Koordinator pins do not count:
// kubelet's record of them is wrong.
CpuSet ownedByKubelet(const CpuManagerState& state, const std::vector<PodView>& pods);

// Returns true if the scheduler chose CPUs or NUMA nodes for the pod.
bool placedByScheduler(const api::Pod& pod);

// The pods that the scheduler pinned to CPUs.
std::vector<PinnedPod> pinnedPods(const std::vector<PodView>& pods);

}  // namespace koord::koordlet::cpusuppress
