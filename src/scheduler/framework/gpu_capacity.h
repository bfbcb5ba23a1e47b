#pragma once

// GpuCapacity: what DeviceShare tells score plugins about GPUs, without a dependency of one plugin
// on the other. Found through Profile::offers.
//
// Shares of a GPU are in thousandths. A GPU has as much free as the scarcest of its resources: with
// 40 % of the cores and 70 % of the memory, 400.

#include <boost/container/static_vector.hpp>
#include <cstdint>

#include "scheduler/engine/node_set.h"
#include "scheduler/engine/pod_info.h"

namespace koord::scheduler {

inline constexpr std::size_t kMaxGpusOfNode = 16;

// What a pod requests of GPUs.
struct GpuRequest {
  std::int32_t count = 0;   // 0: no GPUs
  std::int32_t share = 0;   // of each GPU, in thousandths
  std::int64_t memory = 0;  // of each GPU, in bytes; 0: the share says it
  bool operator==(const GpuRequest&) const = default;
};

struct FreeGpus {
  // The free share of each healthy GPU, at most kMaxGpusOfNode; the order has no meaning.
  boost::container::static_vector<std::uint16_t, kMaxGpusOfNode> shares;
  std::int64_t memory = 0;  // bytes of one GPU, the smallest of the node
};

class GpuCapacityOffer {
 public:
  virtual ~GpuCapacityOffer() = default;
  // Follows from the pod's shape.
  virtual GpuRequest gpuRequestOf(const PodInfo& pod) const = 0;
  // Empty if the node has no GPUs that the scheduler manages. Counts what pods, reservations and
  // claims have as used.
  virtual FreeGpus freeGpus(NodeId node) const = 0;
};

// A plugin that wants parts of GPUs to be packed on the GPUs of a node with the least free. If a
// profile has one, DeviceShare chooses among the GPUs of a node like that, whatever its own scoring
// strategy says.
class PackedGpusOffer {
 public:
  virtual ~PackedGpusOffer() = default;
};

}  // namespace koord::scheduler
