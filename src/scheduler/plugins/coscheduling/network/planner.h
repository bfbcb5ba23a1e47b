#pragma once

// Plans where in the network the pods of a gang go, given how many of them each node can take.
//
// The offers of nodes are summed up over the tree. A place whose layer takes pods in multiples of m
// only offers the largest multiple of m in what its children offer together. Then
//
//  1. The candidates are the places of the layer that the gang must be gathered in, and of the
//     layers below as long as a place still takes the whole gang. Only the candidates of the lowest
//     such layer remain, perhaps single nodes: the gang cannot be closer together.
//  2. Candidates are ordered by the most existing pods that the gang belongs with, then by the
//     tightest fit, each compared at the place, its parent, and so on; then by the highest score,
//     then by name.
//  3. Within a candidate, pods are distributed from the top: the children that offer most come
//     first, each takes what it offers, at most what is left, in its multiple. With multiples in
//     several layers a candidate may fail; then the next one is tried.
//
// The pods are assigned to the nodes in order, so that neighbours in rank are neighbours in the
// network. Cost: a sort of each place's children. The decisions are those of upstream's planner,
// except for that order, that places of one name in two parents are two places, and that a gang
// does not go where it breaks the multiple of a layer above.

#include <span>
#include <string>
#include <vector>

#include "scheduler/plugins/coscheduling/network/tree.h"

namespace koord::scheduler {

// What a node offers to the gang.
struct NetworkOffer {
  std::int64_t slots = 0;     // the number of pods that it can take
  std::int64_t existing = 0;  // pods on it that the gang belongs with
  std::int64_t score = 0;
};

struct NetworkDemand {
  std::int64_t pods = 0;
  std::size_t gatherLevel = 0;          // 0: anywhere in the cluster
  std::vector<std::int64_t> multiples;  // by level; missing or below 2: any number
  // The place with the pods that the gang already has and must be gathered with.
  std::optional<NetworkTree::PlaceId> within;
};

class NetworkPlanner {
 public:
  // Offers by node id; nodes without an offer offer nothing.
  NetworkPlanner(const NetworkTree& tree, std::span<const NetworkOffer> offers,
                 NetworkDemand demand);

  // The best plans, at most `most`: the node of each pod. Empty if the gang does not fit.
  std::vector<std::vector<NodeId>> plans(std::size_t most) const;
  // The nodes of the best places that may gather the gang and take all of it, at most `most`
  // places.
  std::vector<NodeSet> fittingScopes(std::size_t most) const;
  // The places that could gather the gang, and what they offer: "SpineLayer/s1: 3".
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
  std::int64_t distribute(PlaceId place, std::int64_t wanted, std::vector<NodeId>& nodes) const;

  const NetworkTree& tree_;
  const NetworkDemand demand_;
  std::vector<Sum> sums_;  // by place
};

// The nodes by their distance to the existing pods, closest first, then by how few nodes share
// their place. Nodes that are not in the tree come last.
std::vector<NodeId> byCloseness(const NetworkTree& tree, std::span<const NetworkOffer> offers,
                                std::span<const NodeId> nodes);

}  // namespace koord::scheduler
