#pragma once

// scheduling.koordinator.sh/v1alpha1: ClusterNetworkTopology, how the labels of nodes say where in
// the network they are. The one named "default" counts.

#include "api/meta.h"

namespace koord::api {

struct NetworkTopologyLayer {
  std::string topologyLayer;
  std::string parentTopologyLayer;
  List<std::string> labelKey;  // the first that a node has names its place
};
struct ClusterNetworkTopologySpec {
  List<NetworkTopologyLayer> networkTopologySpec;
};
struct ClusterNetworkTopology {
  static constexpr ResourceType kType{"scheduling.koordinator.sh", "v1alpha1",
                                      "clusternetworktopologies", "ClusterNetworkTopology", false};
  ObjectMeta metadata;
  ClusterNetworkTopologySpec spec;
  json::value status;  // written as a whole, never looked into
};

}  // namespace koord::api
