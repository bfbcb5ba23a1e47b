#pragma once

// NUMA hints: how plugins that give pods parts of a node's NUMA nodes (CPUs and memory, devices) agree
// on the same ones. Each provider says from which sets of NUMA nodes it could give the pod what it
// asks for; NodeNUMAResource, which knows the policy of pod and node, merges these into one set, the
// pod's affinity, and asks every provider whether it can really keep to it.
//
//   Filter    NodeNUMAResource asks all providers for hints, merges them, and asks all of them to
//             check the outcome. Policies Restricted and SingleNUMANode reject the node if that
//             fails; BestEffort decides in Reserve.
//   Score     a provider that scores what the pod would get asks NumaAffinityOffer::knownAffinity. Under
//             BestEffort nothing is decided yet.
//   Reserve   affinityOf. The first answer for a pod on a node holds for all of Reserve: it is part of
//             what NodeNUMAResource grants the pod, or follows from the same state anew.
//
// Nothing is passed on through a cycle: hints, and with them the affinity, follow from the pod's class
// and from the state of the one node, as it is now (what-if changes included), in a fixed order, so
// asking twice gives the same. A provider counts as free to the pod what the pod itself holds on the
// node already. What hints depend on of the pod is in the provider's signature (Signed); when a node's
// hints may have changed the node is touched, which regranting does by itself.
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

// A set of NUMA nodes: bit n is the one with id n. Ids from 64 on cannot be said.
using NumaMask = std::uint64_t;
inline constexpr int kMostNumaNodes = 64;
inline constexpr NumaMask kAnyNuma = 0;  // in a hint: wherever

struct NumaHint {
  NumaMask mask = kAnyNuma;
  bool preferred = false;  // no smaller set would do
  std::int64_t score = 0;  // of sets that are as good otherwise the one with the highest sum wins
  bool operator==(const NumaHint&) const = default;
};

// Of one resource, in the order in which sets are tried (numaSubsets).
struct NumaResourceHints {
  std::string resource;
  std::vector<NumaHint> hints;  // empty: there is no set that would do
};

struct NumaHints {
  Status status;  // a rejection: the provider cannot place the pod on the node at all
  // By name. Empty: the pod wants nothing of this provider that lies on NUMA nodes.
  std::vector<NumaResourceHints> resources;
};

class NumaHintProvider {
 public:
  virtual ~NumaHintProvider() = default;
  virtual NumaHints numaHints(const PodInfo& pod, NodeId node) = 0;
  // Success when the pod can have everything from these NUMA nodes; kAnyNuma: from anywhere.
  virtual Status checkNuma(const PodInfo& pod, NodeId node, NumaMask affinity) = 0;
};

class NumaAffinityOffer {
 public:
  virtual ~NumaAffinityOffer() = default;
  // The NUMA nodes that the pod is kept to on the node; kAnyNuma: by no policy, or since none of its
  // sets is better than another. nullopt: the node's or pod's policy keeps the pod off this node.
  virtual std::optional<NumaMask> affinityOf(const PodInfo& pod, NodeId node) = 0;
  // Of it what Filter has found out: kAnyNuma under BestEffort.
  virtual std::optional<NumaMask> knownAffinity(const PodInfo& pod, NodeId node) = 0;
};

// All sets of these NUMA nodes (ids ascending, below 64) that are not empty: smaller ones first, those
// of one size in lexicographic order. Of more than `most` sets the smallest ones, and the one of all.
std::vector<NumaMask> numaSubsets(const std::vector<int>& ids, std::size_t most = 1 << 12);

}  // namespace koord::scheduler
