#pragma once

// NUMA hints: how plugins that allocate from a node's NUMA nodes (CPUs and memory, devices) agree
// on the same ones. Each provider returns the sets of NUMA nodes from which it could satisfy the
// pod. NodeNUMAResource, which knows the policy of pod and node, merges these into one set, the
// pod's affinity. Then it checks with every provider that this set is sufficient.
//
//   Filter    NodeNUMAResource gets the hints of all providers, merges them, and lets all of
//             them check the result. Policies Restricted and SingleNUMANode reject the node if
//             that fails; BestEffort decides in Reserve.
//   Score     a provider that scores the pod's future allocation calls
//             NumaAffinityOffer::knownAffinity. Under BestEffort nothing is decided yet.
//   Reserve   affinityOf. The first result for a pod on a node holds for all of Reserve: it is part
//             of NodeNUMAResource's grant, or is recomputed from the same state.
//
// No state is passed through the cycle. Hints, and so the affinity, follow from the pod's class and
// the node's current state (including the changes of a simulation), in a fixed order, so equal
// calls give equal results. A provider counts what the pod itself already holds on the node as free
// to it. The properties of the pod that hints depend on are in the provider's signature (Signed).
// When a node's hints may have changed the plugin must touch the node; Cluster::regrant does so
// itself.
//
// Plugins derive from these and are found through Profile::offers.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "scheduler/engine/node_set.h"
#include "scheduler/engine/pod_info.h"
#include "scheduler/framework/status.h"

namespace koord::scheduler {

// A set of NUMA nodes: bit n is the NUMA node with id n. Ids from 64 on are not supported.
using NumaMask = std::uint64_t;
inline constexpr int kMaxNumaNodes = 64;
inline constexpr NumaMask kAnyNuma = 0;  // in a hint: any NUMA nodes

struct NumaHint {
  NumaMask mask = kAnyNuma;
  bool preferred = false;  // no smaller set is sufficient
  std::int64_t score = 0;  // among sets equal otherwise, the highest sum wins
  bool operator==(const NumaHint&) const = default;
};

// The hints for one resource, in the order of numaSubsets.
struct NumaResourceHints {
  std::string resource;
  std::vector<NumaHint> hints;  // empty: no set is sufficient
};

struct NumaHints {
  Status status;  // a rejection: the provider cannot place the pod on the node at all
  // By name. Empty: the pod needs nothing of this provider that belongs to NUMA nodes.
  std::vector<NumaResourceHints> resources;
};

class NumaHintProvider {
 public:
  virtual ~NumaHintProvider() = default;
  virtual NumaHints numaHints(const PodInfo& pod, NodeId node) = 0;
  // Success if everything the pod needs is free on these NUMA nodes; kAnyNuma: on any.
  virtual Status checkNuma(const PodInfo& pod, NodeId node, NumaMask affinity) = 0;
};

class NumaAffinityOffer {
 public:
  virtual ~NumaAffinityOffer() = default;
  // The NUMA nodes that the pod must use on the node; kAnyNuma: no policy applies, or no set is
  // better than another. nullopt: the node's or pod's policy rejects the pod on this node.
  virtual std::optional<NumaMask> affinityOf(const PodInfo& pod, NodeId node) = 0;
  // The affinity as far as Filter has determined it: kAnyNuma under BestEffort.
  virtual std::optional<NumaMask> knownAffinity(const PodInfo& pod, NodeId node) = 0;
};

// All non-empty sets of these NUMA nodes (ids ascending, below 64): smaller sets first, sets of one
// size in lexicographic order. If there are more than `most`, the smallest sets and the set of all.
std::vector<NumaMask> numaSubsets(const std::vector<int>& ids, std::size_t most = 1 << 12);

}  // namespace koord::scheduler
