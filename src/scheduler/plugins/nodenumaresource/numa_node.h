#pragma once

// NumaNode: what one node says about its CPUs and NUMA zones, from its NodeResourceTopology and its
// own labels and annotations. Read once per change of these. What cannot be read counts as not said
// and is told as a problem.

#include <array>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "api/core.h"
#include "base/json.h"
#include "model/node_names.h"
#include "scheduler/engine/resources.h"
#include "scheduler/framework/numa_hints.h"
#include "scheduler/plugins/nodenumaresource/cpus/policies.h"
#include "scheduler/plugins/nodenumaresource/cpus/topology.h"
#include "scheduler/plugins/nodenumaresource/topology_object.h"

namespace koord::scheduler {

using model::kAnnotationCpuTopology;
using model::kAnnotationKubeletCpus;
using model::kAnnotationPodCpuAllocs;
inline constexpr std::string_view kAnnotationAmplification = model::kAnnotationAmplificationRatio;
inline constexpr std::string_view kLabelCpuBindPolicy = "node.koordinator.sh/cpu-bind-policy";
inline constexpr std::string_view kLabelNumaStrategy = "node.koordinator.sh/numa-allocate-strategy";
inline constexpr std::string_view kLabelNumaPolicy = "node.koordinator.sh/numa-topology-policy";

// How the parts of a pod that lie on NUMA nodes have to lie together.
enum class NumaPolicy : std::uint8_t { None, BestEffort, Restricted, SingleNumaNode };
// "BestEffort", "Restricted", "SingleNUMANode"; None for any other text.
NumaPolicy numaPolicyOf(std::string_view text);
std::string_view nameOf(NumaPolicy policy);  // "" for None

// amount times ratio, rounded up; the amount itself for ratios up to 1.
std::int64_t amplify(std::int64_t amount, double ratio);

struct NumaZone {
  int id = 0;
  Resources total;  // for pods: without reserved CPUs, amplified
};

struct NumaNode {
  bool reported = false;  // there is a NodeResourceTopology
  std::shared_ptr<const CpuTopology> topology;
  CpuSet reserved;  // CPUs that pods of ours do not get
  // By id, which are below kMostNumaNodes: of a node with others the zones are not used at all.
  std::vector<NumaZone> zones;
  std::vector<NumaMask> zoneSets;  // numaSubsets of them
  NumaMask allZones = 0;
  std::array<std::uint8_t, kMostNumaNodes> zoneAt{};  // position in `zones` by id
  NumaPolicy policy = NumaPolicy::None;
  CpuBindPolicy bind = CpuBindPolicy::None;  // every pod is bound like this
  std::optional<NumaStrategy> strategy;
  std::map<std::string, double, std::less<>> ratios;  // of the Node; above 1 only
  double cpuRatio = 1;
  bool badRatios = false;
  json::value kubelet;  // its CPU policy as it was reported; null without
  std::vector<std::string> problems;

  const CpuTopology& cpus() const;  // not valid: nothing can be bound
  bool valid() const { return cpus().valid(); }
  // It demands something of every pod.
  bool particular() const {
    return bind != CpuBindPolicy::None || policy != NumaPolicy::None || cpuRatio > 1 || badRatios;
  }
  bool special() const { return reported || particular(); }
};

// Either object may be missing.
NumaNode readNumaNode(ResourceNames& names, const api::Node* node, const CpuReport* report);

}  // namespace koord::scheduler
