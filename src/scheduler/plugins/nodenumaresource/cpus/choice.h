#pragma once

// The choice of a pod's CPUs on one node with all constraints of the pod and the node: a required
// policy, amounts by NUMA node that were allocated before, CPUs that it already has, and equal
// shares of all NUMA nodes.

#include <string>

#include "scheduler/plugins/nodenumaresource/cpus/accumulator.h"

namespace koord::scheduler {

// What a node offers to the pod.
struct CpuOffer {
  const CpuTopology& topology;  // valid
  const CpuUse& use;            // without what the pod may take over (CpuUse::without)
  int maxHolders = 1;
  CpuSet available;  // availableCpus(topology, use, maxHolders, reserved)
};

struct CpuDemand {
  CpuRequest request;
  bool required = false;  // the policy is required, not only preferred
  CpuSet preferred;       // taken first if available
  // Where the CPUs must come from, as (NUMA id, CPUs), ascending; empty: from anywhere. If less is
  // available, less is taken, and the sum must still be that of the request.
  std::vector<std::pair<int, int>> byNuma;
};

struct CpuChoice {
  CpuSet cpus;
  std::string failure;  // the reason, for users; empty on success
  bool ok() const { return failure.empty(); }
};

inline constexpr std::string_view kNotEnoughCpus = "not enough cpus available to satisfy request";

CpuChoice chooseCpus(CpuAccumulator& accumulator, const CpuOffer& offer, const CpuDemand& demand);

// An equal share for every NUMA node, limited by what it has: (NUMA id, CPUs), ascending. Whole
// cores with FullPCPUs; a remainder below a core is in no share. The shares add up to the request
// without that remainder if enough is available.
std::vector<std::pair<int, int>> evenShares(const CpuTopology& topology, const CpuSet& available,
                                            CpuBindPolicy bind, int count);

}  // namespace koord::scheduler
