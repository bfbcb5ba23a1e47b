#pragma once

// NetworkTree: the places of a cluster's network, from the cluster down to its nodes, with one
// level per layer. A place is identified by its name and its parent: two spines may have a rack of
// the same name.
//
// A node that lacks the label of a layer is not in the tree. The exception is the layer right above
// the nodes, where such a node gets its own place with the node's name: nodes without accelerators
// need no label for that layer.

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
  // Returns false if the node lacks a label.
  bool add(NodeId node, const std::string& name, const api::StringMap& labels);

  const NetworkLayers& layers() const { return layers_; }
  // Parents come before their children.
  const std::vector<Place>& places() const { return places_; }
  const Place& place(PlaceId id) const { return places_[id]; }
  std::optional<PlaceId> placeOf(NodeId node) const;
  // The ancestor on that level, which must not be below the place's own; the place itself on its
  // own level.
  PlaceId above(PlaceId id, std::size_t level) const;

 private:
  NetworkLayers layers_;
  std::vector<Place> places_;
  std::vector<PlaceId> byNode_;  // kRoot: not in the tree
};

}  // namespace koord::scheduler
