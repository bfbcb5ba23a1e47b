#pragma once

// Where in the network the pods of a gang go, given how many of them each node would take.
//
// What nodes offer is added up over the tree; a place whose layer takes pods in multiples of m only
// offers the largest multiple of m in what its places below offer together. Then
//
//  1. the places of the layer that the gang must be gathered in are looked at, and those below them
//     that still take all of it, layer by layer. The candidates are the ones of the lowest layer
//     that has any, perhaps single nodes: closer together than that the gang cannot be.
//  2. Candidates are ordered: most pods that the gang belongs with first, then the tightest fit, each
//     compared at the place, the one that it is in, and so on; then the highest score, then by name.
//  3. Within a candidate pods are dealt from the top: places below that offer most come first, each takes
//     what it offers, at most what is left, in its multiple. Not every candidate works out when there are
//     multiples in several layers; then the next one is tried.
//
// The pods are dealt to the nodes in their order, so that neighbours in rank are neighbours in the
// network. Cost: a sort of each place's places below. As upstream's planner decides, but for that
// order, that places of one name in two others are two places, and that a gang does not go where it
// breaks the multiple of a layer above.

#include <span>
#include <string>
#include <vector>

#include "scheduler/plugins/coscheduling/network/tree.h"

namespace koord::scheduler {

// What a node has for the gang.
struct NetworkOffer {
  std::int64_t slots = 0;     // pods that it would take
  std::int64_t existing = 0;  // pods on it that the gang belongs with
  std::int64_t score = 0;
};

struct NetworkDemand {
  std::int64_t pods = 0;
  std::size_t gatherLevel = 0;          // 0: anywhere in the cluster
  std::vector<std::int64_t> multiples;  // by level; missing or below 2: any number
  // The gang has pods there already, and must be gathered with them.
  std::optional<NetworkTree::PlaceId> within;
};

class NetworkPlanner {
 public:
  // Offers by node id; nodes without one offer nothing.
  NetworkPlanner(const NetworkTree& tree, std::span<const NetworkOffer> offers,
                 NetworkDemand demand);

  // The best ones, at most that many: for each pod its node. Empty: there is no place.
  std::vector<std::vector<NodeId>> plans(std::size_t most) const;
  // The nodes of the best places that it may be gathered in and that take all of it, at most that many.
  std::vector<NodeSet> fittingScopes(std::size_t most) const;
  // The places that all of it would have to be in, and what they offer: "SpineLayer/s1: 3".
  std::vector<std::string> scopes() const;

 private:
  using PlaceId = NetworkTree::PlaceId;
  struct Sum {
    std::int64_t slots = 0;
    std::int64_t existing = 0;
    std::int64_t score = 0;
  };
  std::int64_t multipleAt(std::size_t level) const;
  std::int64_t floored(std::int64_t slots, std::size_t level) const;
  bool comesOut(std::size_t level) const;
  std::vector<PlaceId> gatherScopes() const;
  std::vector<PlaceId> candidates() const;
  bool before(PlaceId a, PlaceId b, bool tightFirst) const;
  std::int64_t deal(PlaceId place, std::int64_t wanted, std::vector<NodeId>& nodes) const;

  const NetworkTree& tree_;
  const NetworkDemand demand_;
  std::vector<Sum> sums_;  // by place
};

// The nodes by how close they are to the pods that are counted, closest first, and where that is the same
// by how few of the nodes share their place; nodes that are not in the tree come last.
std::vector<NodeId> byCloseness(const NetworkTree& tree, std::span<const NetworkOffer> offers,
                                std::span<const NodeId> nodes);

}  // namespace koord::scheduler
