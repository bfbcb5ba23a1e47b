#pragma once

// NetworkTree: the places of a cluster's network, from the cluster down to its nodes, with one level per
// layer. A place is told by its name and the one that it is in: two spines may have a rack of one name.
//
// A node that lacks the label of some layer is not in the tree. In the layer right above the nodes it
// gets a place of its own instead, which has its name: nodes without accelerators need no label for
// these.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "scheduler/engine/node_set.h"
#include "scheduler/plugins/coscheduling/network/layers.h"

namespace koord::scheduler {

class NetworkTree {
 public:
  using PlaceId = std::uint32_t;
  static constexpr PlaceId kRoot = 0;

  struct Place {
    std::size_t level = 0;  // 0: the cluster
    std::string name;
    PlaceId parent = kRoot;
    std::map<std::string, PlaceId> below;
    NodeId node = kNoNode;  // of the lowest level
    std::size_t nodes = 0;
  };

  explicit NetworkTree(NetworkLayers layers);
  // False: it lacks a label.
  bool add(NodeId node, const std::string& name, const api::StringMap& labels);

  const NetworkLayers& layers() const { return layers_; }
  // Those above come before those below.
  const std::vector<Place>& places() const { return places_; }
  const Place& place(PlaceId id) const { return places_[id]; }
  std::optional<PlaceId> placeOf(NodeId node) const;
  // The one of that level, not below its own, that it is in.
  PlaceId above(PlaceId id, std::size_t level) const;

 private:
  NetworkLayers layers_;
  std::vector<Place> places_;
  std::vector<PlaceId> byNode_;  // kRoot: not in the tree
};

}  // namespace koord::scheduler
