#pragma once

// Memory QoS of a pod, from NodeSLO (for its QoS class) and its annotation
// koordinator.sh/memoryQOS, and the resulting values of memory cgroup files. All amounts are bytes;
// an absent value is not written.

#include <optional>

#include "koordlet/states/node_slo.h"
#include "koordlet/states/pod_view.h"

namespace koord::koordlet::memoryqos {

// Returns the memory QoS in force for a pod; nullopt if the class has none. An annotation that is
// malformed or out of bounds is ignored.
std::optional<api::MemoryQOS> configOf(const PodView& pod,
                                       const api::ResourceQOSStrategy& strategy);
// Returns the memory QoS of a QoS directory: Guaranteed counts as LSR, Burstable as LS, BestEffort
// as BE.
const api::MemoryQOS* configOf(KubeQos directory, const api::ResourceQOSStrategy& strategy);

// Request and limit of a pod or container: memory, or batch-memory for BE. limit -1 = none.
struct Demand {
  std::int64_t request = 0;
  std::int64_t limit = -1;
};
Demand demandOfPod(const PodView& pod);
Demand demandOfContainer(const PodView& pod, const api::Container& container);

struct Values {
  std::optional<std::int64_t> min, low, high;
  std::optional<std::int64_t> wmarkRatio, wmarkScaleFactor, wmarkMinAdj;
  std::optional<std::int64_t> priority, usePriorityOom, oomGroup;
  std::optional<std::int64_t> pageCacheEnable, pageCacheSize, pageCacheSync;
};
Values podValues(const api::MemoryQOS& qos, const Demand& demand);
// A container without a limit is taken to have the node's `allocatable` as its limit.
Values containerValues(const api::MemoryQOS& qos, const Demand& demand, std::int64_t allocatable);
// Values of a QoS directory. Its min and low are sums over its pods and not set here.
Values directoryValues(const api::MemoryQOS& qos);

}  // namespace koord::koordlet::memoryqos
