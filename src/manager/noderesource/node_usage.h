#pragma once

// Common parts of the batch and mid formulas: the reserved part of a node, its pods' amounts, stale
// metrics.

#include <functional>

#include "manager/noderesource/cpu_memory.h"
#include "manager/noderesource/plugin.h"

namespace koord::manager {

// Returns true if the metrics are missing or older than degradeTimeMinutes. Then no resources may
// be offered.
bool metricIsStale(const NodeView& view);
// When the metrics become stale; nullopt if they are missing.
std::optional<WallTime> staleAfter(const NodeView& view);

// capacity - allocatable, but not less than the node's reservation annotation.
CpuMemory nodeReserved(const api::Node& node);

// The usage of host applications whose class counts for more than `than`.
CpuMemory hostApplicationUsage(const api::NodeMetric& metric, model::PriorityClass than);

// A pod's requests of native cpu and memory.
CpuMemory requestOf(const api::Pod& pod);

// Returns true for Running and Pending; other pods use no resources.
bool isActive(const api::Pod& pod);

// Sums over the pods with priority over batch pods: all but batch and free.
struct HighPriorityUsage {
  CpuMemory request;
  CpuMemory used;             // an LSE pod counts with all CPUs of its request
  CpuMemory maxUsageRequest;  // the larger of used and requested, pod by pod
};
HighPriorityUsage highPriorityUsage(const NodeView& view);

// Called with each pod's part of these sums. pod is nullptr for measured usage of a deleted pod.
// Pods without measurements are not in maxUsageRequest, as in upstream for whole nodes.
using UsageVisitor = std::function<void(const api::Pod* pod, const HighPriorityUsage& part)>;
void visitHighPriority(const NodeView& view, const UsageVisitor& visit);

}  // namespace koord::manager
