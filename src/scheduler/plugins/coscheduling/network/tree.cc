#include "scheduler/plugins/coscheduling/network/tree.h"

namespace koord::scheduler {

namespace {

const std::string* placeIn(const NetworkLayer& layer, const api::StringMap& labels) {
  for (const std::string& key : layer.keys) {
    const std::string* value = api::findIn(labels, key);
    if (value && !value->empty()) return value;
  }
  return nullptr;
}

}  // namespace

NetworkTree::NetworkTree(NetworkLayers layers) : layers_(std::move(layers)), places_(1) {}

bool NetworkTree::add(NodeId node, const std::string& name, const api::StringMap& labels) {
  std::vector<const std::string*> path;  // without the cluster
  for (std::size_t level = 1; level < layers_.depth(); ++level) {
    const std::string* place = placeIn(layers_.list[level], labels);
    if (!place && level + 1 < layers_.depth()) return false;
    path.push_back(place ? place : &name);
  }
  path.push_back(&name);
  PlaceId at = kRoot;
  ++places_[at].nodes;
  for (std::size_t i = 0; i < path.size(); ++i) {
    const auto next = static_cast<PlaceId>(places_.size());
    const auto [below, added] = places_[at].below.emplace(*path[i], next);
    const PlaceId parent = std::exchange(at, below->second);
    if (added) places_.push_back({i + 1, *path[i], parent, {}, kNoNode, 0});
    ++places_[at].nodes;
  }
  places_[at].node = node;
  if (node >= byNode_.size()) byNode_.resize(node + 1, kRoot);
  byNode_[node] = at;
  return true;
}

std::optional<NetworkTree::PlaceId> NetworkTree::placeOf(NodeId node) const {
  if (node >= byNode_.size() || byNode_[node] == kRoot) return std::nullopt;
  return byNode_[node];
}

NetworkTree::PlaceId NetworkTree::above(PlaceId id, std::size_t level) const {
  while (places_[id].level > level) id = places_[id].parent;
  return id;
}

}  // namespace koord::scheduler
