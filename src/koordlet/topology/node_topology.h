#pragma once

// What the NodeResourceTopology of this node has to say: its CPUs, which of them pods may share,
// what kubelet's own managers do, and its NUMA zones. The scheduler places pods by it.
//
// Shared pools, per NUMA node:
//   LS = CPUs - those kubelet gave to single pods - those pinned by any pod - reserved - system QoS
//   BE = the same, but only what LSE pods pinned is taken away
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

// Of kubelet's configuration, what concerns CPUs and NUMA nodes.
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

// From the answer of GET /configz.
Result<KubeletCpuConfig> kubeletCpuConfigOf(const json::value& configz);

// Which CPUs pods may share, and which are somebody's.
struct CpuPools {
  CpuSet shared;      // for pods that are not best effort
  CpuSet bestEffort;  // for those that are
  CpuSet systemQos;   // of SYSTEM pods; empty where the node names none
  bool kubeletIsStatic = false;
  // Those of a pool on the NUMA nodes.
  static CpuSet onNodes(const CpuTopology& cpus, const CpuSet& pool, const std::vector<int>& nodes);
};
CpuPools cpuPools(const api::Node& node, const CpuTopology& cpus, const CpuManagerState& state,
                  const std::vector<PodView>& pods);

struct NodeTopologyInput {
  const api::Node& node;
  const CpuTopology& cpus;
  const CpuBasicInfo& basic;
  const std::optional<KubeletCpuConfig>& kubelet;  // none: it is not to be asked
  const CpuManagerState& state;
  const std::vector<PodView>& pods;
  const std::vector<ZoneMemory>& zoneMemory;  // by NUMA node
  bool hugePages = false;                     // zones say how many huge pages they have, not 0
};

struct NodeTopology {
  std::map<std::string, json::value> annotations;  // as documents
  std::optional<std::string> numaReservation;      // the label; none: to be removed
  std::vector<std::string> policies;
  // "node-0" and so on; each with the amounts of cpu, memory and huge pages.
  struct Zone {
    std::string name;
    api::ResourceList capacity;
    api::ResourceList allocatable;
  };
  std::vector<Zone> zones;
};

// An error when the machine's CPUs and memory do not tell of the same NUMA nodes.
Result<NodeTopology> nodeTopology(const NodeTopologyInput& input);

// The object to create, and the merge patch that makes an existing one say the same; null when it
// does. Zones of other names go; what others wrote into ours (resources, costs) stays.
json::value newTopologyObject(const NodeTopology& wanted, const api::Node& node);
json::value topologyPatch(const NodeTopology& wanted, const json::value& existing);

}  // namespace koord::koordlet
