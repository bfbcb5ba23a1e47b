#pragma once

// The JSON of annotations about CPUs and NUMA nodes, as codec_numa.cc reads it.

#include "api/meta.h"

namespace koord::scheduler {

// On pods: scheduling.koordinator.sh/resource-spec and .../numa-topology-spec.
struct ResourceSpecDocument {
  std::string requiredCPUBindPolicy;
  std::string preferredCPUBindPolicy;
  std::string preferredCPUExclusivePolicy;
};
struct NumaSpecDocument {
  std::string numaTopologyPolicy;
  std::string singleNUMANodeExclusive;
};
// On pods with a node: scheduling.koordinator.sh/resource-status.
struct NumaNodeResourceDocument {
  std::int32_t node = 0;
  api::ResourceList resources;
};
struct ResourceStatusDocument {
  std::string cpuset;
  api::List<NumaNodeResourceDocument> numaNodeResources;
};
// On NodeResourceTopologies.
struct PodCpusDocument {
  std::string namespace_;
  std::string name;
  std::string uid;
  std::string cpuset;
  bool managedByKubelet = false;
};
struct PodCpusListDocument {
  api::List<PodCpusDocument> pods;
};
struct KubeletCpusDocument {
  std::string policy;
  api::StringMap options;
  std::string reservedCPUs;
};
struct SystemCpusDocument {
  std::string cpuset;
  std::optional<bool> cpusetExclusive;
};

}  // namespace koord::scheduler
