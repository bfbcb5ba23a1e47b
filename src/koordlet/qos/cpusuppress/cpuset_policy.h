#pragma once

// The cpuset policy: which CPUs best effort gets for a budget.
//
// CPUs that a latency-sensitive pod owns exclusively (LSE) are out. What is left is shared in
// proportion between CPUs of LSR pods and the rest, so that best effort does not crowd one kind.
// Within each, whole cores are taken first, turn by turn from each NUMA node, so that hyper-threads
// of one core are not split between best effort and others more than needed and memory bandwidth is
// spread. The set grows by at most a tenth of the node per round and shrinks at once.

#include <optional>
#include <vector>

#include "base/cpuset.h"
#include "koordlet/system/cpu_topology.h"
#include "model/qos.h"

namespace koord::koordlet::cpusuppress {

struct PinnedPod {
  model::Qos qos = model::Qos::None;  // by label
  CpuSet cpus;                        // of its resource-status annotation
  bool operator==(const PinnedPod&) const = default;
};

struct CpusetInput {
  std::vector<CpuPlace> cpus;  // of the node, online
  std::vector<PinnedPod> pods;
  CpuSet excluded;  // reserved CPUs and those of an exclusive system QoS
  CpuSet current;   // what best effort has now
  std::int64_t budgetMilli = 0;
  bool operator==(const CpusetInput&) const = default;
};

// Empty when nothing is to be changed: there are not enough CPUs to choose from.
CpuSet chooseCpuset(const CpusetInput& input);
// Everything best effort may have when it is not suppressed.
CpuSet unsuppressedCpuset(const std::vector<CpuPlace>& cpus, const std::vector<PinnedPod>& pods,
                          const CpuSet& excluded);

// `wanted` of the CPUs, in the order in which they are taken; empty when there are fewer.
std::vector<int> selectCpus(std::int64_t wanted, const std::vector<CpuPlace>& cpus);

}  // namespace koord::koordlet::cpusuppress
