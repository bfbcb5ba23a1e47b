#pragma once

// Memory QoS of a pod: what NodeSLO says of its class and its annotation koordinator.sh/memoryQOS of
// itself, and the values of memory cgroup files that follow. All amounts are bytes; a value that is
// absent is not written.

#include <optional>

#include "koordlet/states/node_slo.h"
#include "koordlet/states/pod_view.h"

namespace koord::koordlet::memoryqos {

// The memory QoS in force for a pod; nullopt when the class has none. An annotation that cannot be
// read, or is out of bounds, is passed over.
std::optional<api::MemoryQOS> configOf(const PodView& pod,
                                       const api::ResourceQOSStrategy& strategy);
// Of the class of a QoS directory: Guaranteed counts as LSR, Burstable LS, BestEffort BE.
const api::MemoryQOS* configOf(KubeQos directory, const api::ResourceQOSStrategy& strategy);

// What a pod or container asked for: memory, or batch-memory for best effort. limit -1 = none.
struct Asked {
  std::int64_t request = 0;
  std::int64_t limit = -1;
};
Asked askedByPod(const PodView& pod);
Asked askedByContainer(const PodView& pod, const api::Container& container);

struct Values {
  std::optional<std::int64_t> min, low, high;
  std::optional<std::int64_t> wmarkRatio, wmarkScaleFactor, wmarkMinAdj;
  std::optional<std::int64_t> priority, usePriorityOom, oomGroup;
  std::optional<std::int64_t> pageCacheEnable, pageCacheSize, pageCacheSync;
};
Values podValues(const api::MemoryQOS& qos, const Asked& asked);
// `allocatable` of the node stands for the limit of a container that has none.
Values containerValues(const api::MemoryQOS& qos, const Asked& asked, std::int64_t allocatable);
// Of a QoS directory, whose min and low are sums over its pods.
Values directoryValues(const api::MemoryQOS& qos);

}  // namespace koord::koordlet::memoryqos
