#pragma once

// CpuUse: how many pods hold each CPU of a node, and how many of them request exclusivity of its
// core or NUMA node. It is independent of the topology: allocations are counted before their node's
// topology is read, and stay correct when it changes.

#include <cstdint>
#include <span>
#include <vector>

#include "scheduler/plugins/nodenumaresource/cpus/policies.h"
#include "scheduler/plugins/nodenumaresource/cpus/topology.h"

namespace koord::scheduler {

class CpuUse {
 public:
  void add(const CpuSet& cpus, CpuExclusivePolicy policy = CpuExclusivePolicy::None);
  // The CPUs must have been added with the same policy.
  void remove(const CpuSet& cpus, CpuExclusivePolicy policy = CpuExclusivePolicy::None);
  // One holder less for each CPU of each set: what a pod may take over from the holders (its
  // reservation, a pod that it preempts). CPUs without holders stay without.
  CpuUse without(std::span<const CpuSet> given) const;

  int holders(int cpu) const { return countAt(holders_, cpu); }
  // Returns true if one of the holders has this policy.
  bool exclusive(int cpu, CpuExclusivePolicy policy) const {
    return policy == CpuExclusivePolicy::PCPULevel       ? countAt(aloneOnCore_, cpu) > 0
           : policy == CpuExclusivePolicy::NUMANodeLevel ? countAt(aloneOnNuma_, cpu) > 0
                                                         : false;
  }
  // CPUs with at least one holder.
  const CpuSet& held() const { return held_; }
  bool operator==(const CpuUse& other) const;

 private:
  using Counts = std::vector<std::uint16_t>;  // by CPU id, as far as needed
  static int countAt(const Counts& counts, int cpu) {
    return static_cast<std::size_t>(cpu) < counts.size() ? counts[static_cast<std::size_t>(cpu)]
                                                         : 0;
  }
  Counts* countsOf(CpuExclusivePolicy policy);
  static void raise(Counts& counts, int cpu);
  static bool lower(Counts& counts, int cpu);  // returns true if it is 0 now

  Counts holders_;
  Counts aloneOnCore_;
  Counts aloneOnNuma_;
  CpuSet held_;
};

// CPUs of the topology that fewer than `maxHolders` pods hold and that are not reserved.
CpuSet availableCpus(const CpuTopology& topology, const CpuUse& use, int maxHolders,
                     const CpuSet& reserved);
// The part that a required policy can use: whole cores for FullPCPUs, the lowest CPU of each core
// for SpreadByPCPUs; all for other policies.
CpuSet usableUnder(CpuBindPolicy policy, const CpuTopology& topology, const CpuSet& available);
// Returns true if these CPUs are whole cores, or all of different cores, as the policy says; true
// for other policies.
bool satisfies(CpuBindPolicy policy, const CpuTopology& topology, const CpuSet& cpus);

}  // namespace koord::scheduler
