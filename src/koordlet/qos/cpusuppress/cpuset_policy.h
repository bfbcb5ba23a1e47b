#pragma once

// The cpuset policy: which CPUs BE pods get for a budget.
//
// CPUs that an LSE pod owns exclusively are excluded. The budget is split in proportion between
// CPUs of LSR pods and the rest, so that BE pods do not crowd one kind. Within each kind whole
// cores are taken first, in turn from each NUMA node. So BE pods and others share as few cores as
// possible, and memory bandwidth is spread. The set grows by at most a tenth of the node per round
// and shrinks at once.

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
  CpuSet current;   // what BE pods have now
  std::int64_t budgetMilli = 0;
  bool operator==(const CpusetInput&) const = default;
};

// Returns an empty set if there are not enough CPUs to choose from; then nothing changes.
CpuSet chooseCpuset(const CpusetInput& input);
// All CPUs that BE pods may have when they are not suppressed.
CpuSet unsuppressedCpuset(const std::vector<CpuPlace>& cpus, const std::vector<PinnedPod>& pods,
                          const CpuSet& excluded);

// Returns `wanted` of the CPUs, in the order in which they are taken; empty if there are fewer.
std::vector<int> selectCpus(std::int64_t wanted, const std::vector<CpuPlace>& cpus);

}  // namespace koord::koordlet::cpusuppress
