#pragma once

// Chooses which CPUs to reserve if only their number is configured: kubelet's packed choice, so
// that koordlet, kubelet and the scheduler choose the same ones. Whole sockets first, then whole
// NUMA nodes, whole cores, and single CPUs; at each step those with the fewest free CPUs come
// first, so that large pieces stay whole for others.

#include "base/cpuset.h"
#include "base/result.h"
#include "koordlet/system/cpu_topology.h"

namespace koord::koordlet {

// Returns `count` of the available CPUs; an error if there are fewer.
Result<CpuSet> takeByTopology(const CpuTopology& topology, const CpuSet& available, int count);

}  // namespace koord::koordlet
