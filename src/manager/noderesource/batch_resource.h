#pragma once

// BatchResource: lends batch pods what latency-sensitive ones do not use.
//
//   byUsage           = Capacity - Margin - SystemMax    - Used(high priority)
//   byRequest         = Capacity - Margin - NodeReserved - Requested(high priority)
//   byMaxUsageRequest = Capacity - Margin - SystemMax    - sum of max(used, requested)
//
// Margin is the part of the capacity beyond the reclaim threshold, SystemMax the larger of what the
// system uses and what is reserved for it. Policies choose one formula per resource; none goes
// below zero. Stale metrics withdraw the resources.

#include "manager/noderesource/cpu_memory.h"
#include "manager/noderesource/node_usage.h"
#include "manager/noderesource/plugin.h"

namespace koord::manager {

// What the formula is about: a node, or one of its zones.
struct BatchInputs {
  CpuMemory capacity;
  CpuMemory reserved;    // NodeReserved
  CpuMemory systemUsed;  // of the system and of host applications
  HighPriorityUsage highPriority;
};
// Each step of the formula, for those who want to know how it came about.
struct BatchTerms {
  BatchInputs inputs;
  CpuMemory margin;
  CpuMemory systemMax;
  CpuMemory byPolicy;  // what the chosen formulas give
  CpuMemory amounts;   // not more than the batch thresholds let it be
};
BatchTerms batchTerms(const model::ColocationStrategy& strategy, const BatchInputs& inputs);
inline CpuMemory batchOf(const model::ColocationStrategy& strategy, const BatchInputs& inputs) {
  return batchTerms(strategy, inputs).amounts;
}

// For a node; the metrics must not be stale.
BatchInputs batchInputs(const NodeView& view);
CpuMemory batchAllocatable(const NodeView& view);
// What the system and host applications that batch pods yield to use.
CpuMemory systemUsage(const NodeView& view);

// The same for CPU as a sentence's middle, in cores: "2 cores x 60% = 1.20, less system 0.90, less
// services 0.45: leaves 0". Also says when the metrics are missing or stale.
std::string explainBatchCpu(const NodeView& view);

class BatchResource final : public Plugin {
 public:
  std::string_view name() const override { return "BatchResource"; }
  Result<std::vector<ResourceItem>> calculate(const NodeView& view) const override;
  std::vector<ResourceItem> reset(std::string_view message) const override;
  // Also notes the values before third-party allocations in an annotation, and takes these off.
  Result<> prepare(const ResourceTable& table, api::Node& copy) const override;
  bool needsWrite(const model::ColocationStrategy& strategy, const api::Node& before,
                  const api::Node& after) const override;
};

}  // namespace koord::manager
