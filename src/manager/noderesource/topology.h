#pragma once

// topology.node.k8s.io/v1alpha1 NodeResourceTopology, as far as the manager reads it: what the zones
// (NUMA nodes) of a node hold, and in its annotations what koordlet found out about the CPUs.

#include <string>
#include <vector>

#include "api/meta.h"

namespace koord::manager {

struct ZoneResource {
  std::string name;
  Quantity capacity;
  Quantity allocatable;
  Quantity available;
};
struct TopologyZone {
  std::string name;
  std::string type;
  std::vector<ZoneResource> resources;
};
struct NodeTopology {
  static constexpr api::ResourceType kType{"topology.node.k8s.io", "v1alpha1",
                                           "noderesourcetopologies", "NodeResourceTopology", false};
  api::ObjectMeta metadata;
  std::vector<TopologyZone> zones;
};

// The annotation cpu-basic-info.
struct CpuBasicInfo {
  std::string cpuModel;
  bool hyperThreadEnabled = false;
  bool turboEnabled = false;
};

}  // namespace koord::manager
