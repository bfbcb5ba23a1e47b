#pragma once

// topology.node.k8s.io/v1alpha1: NodeResourceTopology, the NUMA zones of the node of the same name,
// written by koordlet.

#include "api/meta.h"

namespace koord::api {

struct ZoneResource {
  std::string name;
  Quantity capacity;
  Quantity allocatable;
  Quantity available;
};
struct TopologyZone {
  std::string name;  // node-0
  std::string type;  // Node
  List<ZoneResource> resources;
};
struct NodeResourceTopology {
  static constexpr ResourceType kType{"topology.node.k8s.io", "v1alpha1", "noderesourcetopologies",
                                      "NodeResourceTopology", false};
  ObjectMeta metadata;
  List<std::string> topologyPolicies;
  List<TopologyZone> zones;
};

}  // namespace koord::api
