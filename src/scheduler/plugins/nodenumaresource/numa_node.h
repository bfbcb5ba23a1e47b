#pragma once

// NumaNode: the CPUs and NUMA zones of one node, from its NodeResourceTopology and its own labels
// and annotations. Parsed once per change of these. Invalid values count as missing and are
// reported as problems.

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

// How the NUMA nodes of a pod's parts must be aligned.
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
  CpuSet reserved;  // CPUs that the scheduler must not allocate
  // By id, all below kMaxNumaNodes. If a node has other ids, its zones are not used at all.
  std::vector<NumaZone> zones;
  std::vector<NumaMask> zoneSets;  // numaSubsets of them
  NumaMask allZones = 0;
  std::array<std::uint8_t, kMaxNumaNodes> zoneAt{};  // position in `zones` by id
  NumaPolicy policy = NumaPolicy::None;
  CpuBindPolicy bind = CpuBindPolicy::None;  // the policy for every pod
  std::optional<NumaStrategy> strategy;
  std::map<std::string, double, std::less<>> ratios;  // of the Node; only ratios above 1
  double cpuRatio = 1;
  bool badRatios = false;
  json::value kubelet;  // its CPU policy as reported; null without
  std::vector<std::string> problems;

  const CpuTopology& cpus() const;  // not valid: no pod can be bound
  bool valid() const { return cpus().valid(); }
  // True if the node has requirements for every pod.
  bool affectsPlainPods() const {
    return bind != CpuBindPolicy::None || policy != NumaPolicy::None || cpuRatio > 1 || badRatios;
  }
  bool special() const { return reported || affectsPlainPods(); }
};

// Either object may be missing (nullptr).
NumaNode readNumaNode(ResourceNames& names, const api::Node* node, const CpuReport* report);

}  // namespace koord::scheduler
