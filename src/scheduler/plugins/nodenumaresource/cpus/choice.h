#pragma once

// The CPUs of a pod on one node, with everything that a pod and a node can ask of them: a policy
// that is required and not only preferred, amounts by NUMA node that were given to it before, CPUs
// that are its own already, and equal shares of all NUMA nodes.

#include <string>

#include "scheduler/plugins/nodenumaresource/cpus/accumulator.h"

namespace koord::scheduler {

// What a node has to give, as the pod sees it.
struct CpuOffer {
  const CpuTopology& topology;  // valid
  const CpuUse& use;            // without what the pod may take over (CpuUse::without)
  int maxHolders = 1;
  CpuSet available;  // availableCpus(topology, use, maxHolders, reserved)
};

struct CpuDemand {
  CpuRequest request;
  bool required = false;  // the policy is
  CpuSet preferred;       // taken first, as far as they are available
  // Where the CPUs have to come from, as (NUMA id, CPUs), ascending; empty: from anywhere. Less is
  // taken where less is available, and the sum must still be that of the request.
  std::vector<std::pair<int, int>> byNuma;
};

struct CpuChoice {
  CpuSet cpus;
  std::string failure;  // the reason that users read; empty: all went well
  bool ok() const { return failure.empty(); }
};

inline constexpr std::string_view kNotEnoughCpus = "not enough cpus available to satisfy request";

CpuChoice chooseCpus(CpuAccumulator& accumulator, const CpuOffer& offer, const CpuDemand& demand);

// An equal share for every NUMA node, as far as it has so many: (NUMA id, CPUs), ascending. Whole
// cores with FullPCPUs, of which a rest that is no core has no share. The shares add up to what is
// wanted, less that rest, wherever there is enough.
std::vector<std::pair<int, int>> evenShares(const CpuTopology& topology, const CpuSet& available,
                                            CpuBindPolicy bind, int count);

}  // namespace koord::scheduler
