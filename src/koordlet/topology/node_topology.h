#pragma once

// Computes the wanted content of this node's NodeResourceTopology: its CPUs, which of them pods may
// share, the configuration of kubelet's managers, and its NUMA zones. The scheduler places pods by
// it.
//
// Shared pools, per NUMA node:
//   LS = CPUs - assigned by kubelet to single pods - pinned by any pod - reserved - system QoS
//   BE = the same, but of the pinned CPUs only those of LSE pods are subtracted
// Rules: upstream's koordlet.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/core.h"
#include "base/json.h"
#include "koordlet/states/pod_view.h"
#include "koordlet/system/cpu_manager_state.h"
#include "koordlet/system/cpu_topology.h"
#include "koordlet/system/procfs.h"

namespace koord::koordlet {

// The part of kubelet's configuration about CPUs and NUMA nodes.
struct KubeletCpuConfig {
  std::string cpuManagerPolicy;
  std::map<std::string, std::string> cpuManagerOptions;
  std::string reservedCpus;        // a list
  std::int64_t reservedMilli = 0;  // for the system and kubelet itself; used without a list
  std::string topologyPolicy;      // "single-numa-node", ...
  std::string topologyScope;       // "container", "pod"
  bool operator==(const KubeletCpuConfig&) const = default;
};
inline constexpr std::string_view kHugePages2Mi = "hugepages-2Mi", kHugePages1Gi = "hugepages-1Gi";

// Parses the reply of GET /configz.
Result<KubeletCpuConfig> kubeletCpuConfigOf(const json::value& configz);

// Which CPUs pods may share, and which are the system's.
struct CpuPools {
  CpuSet shared;      // for pods that are not BE
  CpuSet bestEffort;  // for BE pods
  CpuSet systemQos;   // of SYSTEM pods; empty if the node names none
  bool kubeletIsStatic = false;
  // Returns the CPUs of a pool on the NUMA nodes.
  static CpuSet onNodes(const CpuTopology& cpus, const CpuSet& pool, const std::vector<int>& nodes);
};
CpuPools cpuPools(const api::Node& node, const CpuTopology& cpus, const CpuManagerState& state,
                  const std::vector<PodView>& pods);

struct NodeTopologyInput {
  const api::Node& node;
  const CpuTopology& cpus;
  const CpuBasicInfo& basic;
  const std::optional<KubeletCpuConfig>& kubelet;  // nullopt if it is not known
  const CpuManagerState& state;
  const std::vector<PodView>& pods;
  const std::vector<ZoneMemory>& zoneMemory;  // by NUMA node
  bool hugePages = false;                     // true if zones report their huge pages; else 0
};

struct NodeTopology {
  std::map<std::string, json::value> annotations;  // as documents
  std::optional<std::string> numaReservation;      // the label; nullopt: remove it
  std::vector<std::string> policies;
  // "node-0" and so on, each with amounts of cpu, memory and huge pages.
  struct Zone {
    std::string name;
    api::ResourceList capacity;
    api::ResourceList allocatable;
  };
  std::vector<Zone> zones;
};

// Returns an error if the host's CPUs and memory have different NUMA nodes.
Result<NodeTopology> nodeTopology(const NodeTopologyInput& input);

// Return the object to create, and the merge patch for an existing one; null if nothing differs.
// The patch removes zones of other names, and keeps what others wrote into ours (resources, costs).
json::value newTopologyObject(const NodeTopology& wanted, const api::Node& node);
json::value topologyPatch(const NodeTopology& wanted, const json::value& existing);

}  // namespace koord::koordlet
