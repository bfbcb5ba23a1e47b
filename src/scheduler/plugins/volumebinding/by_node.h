#pragma once

// The options of a claim per node, computed for all nodes at once. If each volume or storage object
// belongs to one node, there are as many as nodes, and scanning all of them for every node would be
// quadratic.

#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <optional>
#include <vector>

#include "scheduler/engine/cluster.h"
#include "scheduler/plugins/volumebinding/volume_match.h"

namespace koord::scheduler {

// Which of a claim's options are for each node. Valid until a node changes.
class OptionsByNode {
 public:
  OptionsByNode() = default;
  // Keeps the first `most` of each node. Costs O(options x N / 64).
  OptionsByNode(Cluster& cluster, std::vector<VolumeOption> options, std::size_t most);

  // The first of the node's options for which fits(volume) is true; nullptr if there is none.
  template <class F>
  VolumePtr first(NodeId node, F&& fits) const {
    if (node >= byNode_.size()) return nullptr;
    for (const std::uint32_t option : byNode_[node])
      if (fits(options_[option].volume)) return options_[option].volume;
    return nullptr;
  }

 private:
  std::vector<VolumeOption> options_;
  std::vector<boost::container::small_vector<std::uint32_t, 2>> byNode_;
};

// The nodes where the driver of the class reports enough capacity for the claim; nullopt: the
// driver does not report it, and every node may have it. Valid until a node changes.
std::optional<NodeSet> nodesBelowVolumeLimit(Cluster& cluster, const Store<api::CSIDriver>& drivers,
                                             const Store<api::CSIStorageCapacity>& capacities,
                                             const api::StorageClass& class_,
                                             const api::PersistentVolumeClaim& claim);

}  // namespace koord::scheduler
