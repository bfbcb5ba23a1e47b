#pragma once

// What a claim can have on which node, worked out for all nodes at once: volumes and storage that belong to one
// node each are as many as nodes are, and looking through all of them for every node would cost the square of that.

#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <optional>
#include <vector>

#include "scheduler/engine/cluster.h"
#include "scheduler/plugins/volumebinding/volume_match.h"

namespace koord::scheduler {

// Which of a claim's options are for each node. Good until a node changes.
class OptionsByNode {
 public:
  OptionsByNode() = default;
  // Of each node the first `most` are kept. Costs O(options x N / 64).
  OptionsByNode(Cluster& cluster, std::vector<VolumeOption> options, std::size_t most);

  // The first of the node's for which fits(volume) is true; nullptr when there is none.
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

// Where the driver of the class says that it has room for the claim; nullopt: it does not tell, and may have it
// anywhere. Good until a node changes.
std::optional<NodeSet> nodesWithRoom(Cluster& cluster, const Store<api::CSIDriver>& drivers,
                                     const Store<api::CSIStorageCapacity>& capacities,
                                     const api::StorageClass& class_,
                                     const api::PersistentVolumeClaim& claim);

}  // namespace koord::scheduler
