#pragma once

// What batch and mid formulas share: the reserved part of a node, its pods' amounts, stale metrics.

#include <functional>

#include "manager/noderesource/cpu_memory.h"
#include "manager/noderesource/plugin.h"

namespace koord::manager {

// The metrics are missing or older than degradeTimeMinutes: nothing may be lent out on their word.
bool metricIsStale(const NodeView& view);
// When fresh metrics become stale; nothing when they are missing.
std::optional<WallTime> staleAfter(const NodeView& view);

// capacity - allocatable, but not less than the node's reservation annotation.
CpuMemory nodeReserved(const api::Node& node);

// The usage of host applications whose class counts for more than `than`.
CpuMemory hostApplicationUsage(const api::NodeMetric& metric, model::PriorityClass than);

// The native cpu and memory that a pod asks for.
CpuMemory requestOf(const api::Pod& pod);

// Running or Pending; others hold nothing.
bool isActive(const api::Pod& pod);

// Sums over the pods that batch pods have to make room for: all but batch and free.
struct HighPriorityUsage {
  CpuMemory request;
  CpuMemory used;         // an LSE pod counts with all CPUs that it asked for
  CpuMemory usedOrAsked;  // the larger of both, pod by pod
};
HighPriorityUsage highPriorityUsage(const NodeView& view);

// What one pod adds to these sums; pod is null for usage that was measured of a pod that is not there
// any more. What is not measured is not in usedOrAsked, as upstream has it for whole nodes.
using UsageVisitor = std::function<void(const api::Pod* pod, const HighPriorityUsage& part)>;
void visitHighPriority(const NodeView& view, const UsageVisitor& visit);

}  // namespace koord::manager
