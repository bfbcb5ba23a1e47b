#pragma once

// MidResource: offers mid pods the resources that production pods are predicted not to need, or a
// fixed share of the node.
//
//   Mid = min(min(Reclaimable(prod), Capacity - Usage) + Unallocated(prod) x percent, Capacity x
//   threshold)

#include "manager/noderesource/cpu_memory.h"
#include "manager/noderesource/plugin.h"

namespace koord::manager {

// Each step of the formula.
struct MidTerms {
  bool fixed = false;  // a fixed share of the node: only capacity, most and amounts count
  CpuMemory capacity;
  CpuMemory reclaimable;  // of production pods, by prediction
  CpuMemory unused;       // capacity less all usage; 0 if not measured
  CpuMemory system;
  CpuMemory requested;    // by production pods
  CpuMemory unallocated;  // the share of what no pod requests
  CpuMemory most;
  CpuMemory amounts;
};
// The metrics must not be stale.
MidTerms midTerms(const NodeView& view);
inline CpuMemory midAllocatable(const NodeView& view) {
  return midTerms(view).amounts;
}

class MidResource final : public Plugin {
 public:
  std::string_view name() const override { return "MidResource"; }
  Result<std::vector<ResourceItem>> calculate(const NodeView& view) const override;
  std::vector<ResourceItem> reset(std::string_view message) const override;
  Result<> prepare(const ResourceTable& table, api::Node& copy) const override;
  bool needsWrite(const model::ColocationStrategy& strategy, const api::Node& before,
                  const api::Node& after) const override;
};

}  // namespace koord::manager
