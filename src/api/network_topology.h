#pragma once

// scheduling.koordinator.sh/v1alpha1: ClusterNetworkTopology, which says how the labels of nodes
// describe their place in the network. Only the object named "default" is used.

#include "api/meta.h"

namespace koord::api {

struct NetworkTopologyLayer {
  std::string topologyLayer;
  std::string parentTopologyLayer;
  List<std::string> labelKey;  // the first label that a node has names its place
};
struct ClusterNetworkTopologySpec {
  List<NetworkTopologyLayer> networkTopologySpec;
};
struct ClusterNetworkTopology {
  static constexpr ResourceType kType{"scheduling.koordinator.sh", "v1alpha1",
                                      "clusternetworktopologies", "ClusterNetworkTopology", false};
  ObjectMeta metadata;
  ClusterNetworkTopologySpec spec;
  json::value status;  // written as a whole, never read
};

}  // namespace koord::api
