#pragma once

// NumaGrant: the CPUs and the amounts by NUMA node that a pod was allocated, in the format of the
// annotation scheduling.koordinator.sh/resource-status of pods and reservations:
//
//   {"cpuset": "0-3", "numaNodeResources": [{"node": 0, "resources": {"cpu": "4"}}]}

#include <optional>
#include <vector>

#include "api/meta.h"
#include "base/cpuset.h"
#include "scheduler/engine/resources.h"
#include "scheduler/framework/numa_hints.h"
#include "scheduler/plugins/nodenumaresource/cpus/policies.h"

namespace koord::scheduler {

struct NumaAmounts {
  int numa = 0;
  Resources amounts;
  bool operator==(const NumaAmounts&) const = default;
};

struct NumaGrant {
  CpuSet cpus;
  CpuExclusivePolicy exclusive = CpuExclusivePolicy::None;
  std::vector<NumaAmounts> numa;  // by id
  // The NUMA nodes that the pod is restricted to. Not written to annotations, and not part of what
  // is granted.
  NumaMask affinity = kAnyNuma;

  bool nothing() const { return cpus.empty() && numa.empty(); }
  bool operator==(const NumaGrant& other) const {
    return cpus == other.cpus && exclusive == other.exclusive && numa == other.numa;
  }
};

// The allocation in the annotations, with the pod's exclusivity policy (resource-spec); nullopt if
// there is no status or it is empty. The error names annotation and field.
Result<std::optional<NumaGrant>> readNumaGrant(ResourceNames& names,
                                               const api::StringMap& annotations);
std::string resourceStatusText(const ResourceNames& names, const NumaGrant& grant);

}  // namespace koord::scheduler
