#pragma once

// NetworkLayers: the layers of the network in a ClusterNetworkTopology, from the whole cluster down
// to the nodes, and the labels of nodes that name a place in each layer.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/network_topology.h"
#include "base/result.h"

namespace koord::scheduler {

inline constexpr std::string_view kClusterLayer = "ClusterTopologyLayer";
inline constexpr std::string_view kNodeLayer = "NodeTopologyLayer";

struct NetworkLayer {
  std::string name;
  std::vector<std::string> keys;  // of labels; the first that a node has applies
};

struct NetworkLayers {
  std::vector<NetworkLayer> list;  // the first is kClusterLayer, the last kNodeLayer

  std::size_t depth() const { return list.size() - 1; }
  std::optional<std::size_t> levelOf(std::string_view layer) const;
};

// The layers must form one chain down to the nodes; an error names the field that breaks it.
Result<NetworkLayers> layersOf(const api::ClusterNetworkTopologySpec& spec);

}  // namespace koord::scheduler
