#pragma once

// BatchResource: offers batch pods the resources that latency-sensitive pods do not use.
//
//   byUsage           = Capacity - Margin - SystemMax    - Used(high priority)
//   byRequest         = Capacity - Margin - NodeReserved - Requested(high priority)
//   byMaxUsageRequest = Capacity - Margin - SystemMax    - sum of max(used, requested)
//
// Margin is the part of the capacity beyond the reclaim threshold, SystemMax the larger of the
// system's usage and its reservation. Policies choose one formula per resource; none goes below
// zero. Stale metrics withdraw the resources.

#include "manager/noderesource/cpu_memory.h"
#include "manager/noderesource/node_usage.h"
#include "manager/noderesource/plugin.h"

namespace koord::manager {

// The inputs of the formula, of a node or one of its zones.
struct BatchInputs {
  CpuMemory capacity;
  CpuMemory reserved;    // NodeReserved
  CpuMemory systemUsed;  // of the system and of host applications
  HighPriorityUsage highPriority;
};
// Each step of the formula, for explanations.
struct BatchTerms {
  BatchInputs inputs;
  CpuMemory margin;
  CpuMemory systemMax;
  CpuMemory byPolicy;  // results of the chosen formulas
  CpuMemory amounts;   // byPolicy, limited by the batch thresholds
};
BatchTerms batchTerms(const model::ColocationStrategy& strategy, const BatchInputs& inputs);
inline CpuMemory batchOf(const model::ColocationStrategy& strategy, const BatchInputs& inputs) {
  return batchTerms(strategy, inputs).amounts;
}

// The inputs for a node; its metrics must not be stale.
BatchInputs batchInputs(const NodeView& view);
CpuMemory batchAllocatable(const NodeView& view);
// The usage of the system and of host applications with priority over batch pods.
CpuMemory systemUsage(const NodeView& view);

// The CPU calculation as a phrase, in cores: "2 cores x 60% = 1.20, less system 0.90, less LS
// pods 0.45: 0 left". Also says when the metrics are missing or stale.
std::string explainBatchCpu(const NodeView& view);

class BatchResource final : public Plugin {
 public:
  std::string_view name() const override { return "BatchResource"; }
  Result<std::vector<ResourceItem>> calculate(const NodeView& view) const override;
  std::vector<ResourceItem> reset(std::string_view message) const override;
  // Also writes the values before third-party allocations to an annotation, and subtracts these
  // allocations.
  Result<> prepare(const ResourceTable& table, api::Node& copy) const override;
  bool needsWrite(const model::ColocationStrategy& strategy, const api::Node& before,
                  const api::Node& after) const override;
};

}  // namespace koord::manager
