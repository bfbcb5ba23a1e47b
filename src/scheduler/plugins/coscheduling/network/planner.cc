#include "scheduler/plugins/coscheduling/network/planner.h"

#include <fmt/format.h>

#include <algorithm>

namespace koord::scheduler {

NetworkPlanner::NetworkPlanner(const NetworkTree& tree, std::span<const NetworkOffer> offers,
                               NetworkDemand demand)
    : tree_(tree), demand_(std::move(demand)), sums_(tree.places().size()) {
  // Children come after their parents.
  for (std::size_t i = sums_.size(); i-- > 0;) {
    const NetworkTree::Place& place = tree_.places()[i];
    Sum& sum = sums_[i];
    if (place.node != kNoNode && place.node < offers.size()) {
      const NetworkOffer& offer = offers[place.node];
      sum = {offer.slots, offer.existing, offer.score};
    }
    sum.slots = floored(sum.slots, place.level);
    if (i == NetworkTree::kRoot) break;
    Sum& above = sums_[place.parent];
    above.slots += sum.slots;
    above.existing += sum.existing;
    above.score += sum.score;
  }
}

std::int64_t NetworkPlanner::multipleAt(std::size_t level) const {
  return level < demand_.multiples.size() ? std::max<std::int64_t>(demand_.multiples[level], 1) : 1;
}

std::int64_t NetworkPlanner::floored(std::int64_t slots, std::size_t level) const {
  const std::int64_t multiple = multipleAt(level);
  return slots / multiple * multiple;
}

// Returns true if all pods may be in one place of the level, and so in one of each layer above.
bool NetworkPlanner::comesOut(std::size_t level) const {
  for (std::size_t i = 0; i <= level; ++i)
    if (demand_.pods % multipleAt(i) != 0) return false;
  return true;
}

std::vector<NetworkTree::PlaceId> NetworkPlanner::gatherScopes() const {
  if (demand_.within) return {*demand_.within};
  std::vector<PlaceId> scopes;
  for (PlaceId i = 0; i < tree_.places().size(); ++i)
    if (tree_.place(i).level == demand_.gatherLevel) scopes.push_back(i);
  return scopes;
}

std::vector<NetworkTree::PlaceId> NetworkPlanner::candidates() const {
  std::vector<PlaceId> found;
  for (std::vector<PlaceId> layer = gatherScopes(); !layer.empty();) {
    std::erase_if(layer, [&](PlaceId place) {
      return sums_[place].slots < demand_.pods || !comesOut(tree_.place(place).level);
    });
    std::vector<PlaceId> next;
    for (const PlaceId place : layer)
      for (const auto& [name, below] : tree_.place(place).below) next.push_back(below);
    if (!layer.empty()) found = std::move(layer);
    layer = std::move(next);
  }
  return found;
}

bool NetworkPlanner::before(PlaceId a, PlaceId b, bool tightFirst) const {
  const auto differs = [&](std::int64_t Sum::* value) -> std::int64_t {
    for (PlaceId x = a, y = b; x != y; x = tree_.place(x).parent, y = tree_.place(y).parent)
      if (const auto difference = sums_[x].*value - sums_[y].*value; difference != 0)
        return difference;
    return 0;
  };
  if (const auto existing = differs(&Sum::existing); existing != 0) return existing > 0;
  if (const auto slots = differs(&Sum::slots); slots != 0) return (slots < 0) == tightFirst;
  if (sums_[a].score != sums_[b].score) return sums_[a].score > sums_[b].score;
  if (tree_.place(a).name != tree_.place(b).name) return tree_.place(a).name < tree_.place(b).name;
  return a < b;
}

// Adds a node for each pod that goes there; returns the number of pods.
std::int64_t NetworkPlanner::distribute(PlaceId id, std::int64_t wanted,
                                        std::vector<NodeId>& nodes) const {
  const NetworkTree::Place& place = tree_.place(id);
  const std::int64_t share = floored(std::min(wanted, sums_[id].slots), place.level);
  if (place.node != kNoNode) {
    nodes.insert(nodes.end(), static_cast<std::size_t>(share), place.node);
    return share;
  }
  std::vector<PlaceId> below;
  for (const auto& [name, each] : place.below) below.push_back(each);
  std::ranges::sort(below, [&](PlaceId a, PlaceId b) { return before(a, b, false); });
  std::int64_t dealt = 0;
  for (const PlaceId each : below) {
    if (dealt == share) break;
    dealt += distribute(each, share - dealt, nodes);
  }
  return dealt;
}

std::vector<std::vector<NodeId>> NetworkPlanner::plans(std::size_t most) const {
  std::vector<std::vector<NodeId>> plans;
  if (demand_.pods <= 0) return plans;
  std::vector<PlaceId> places = candidates();
  std::ranges::sort(places, [&](PlaceId a, PlaceId b) { return before(a, b, true); });
  for (const PlaceId place : places) {
    if (plans.size() == most) break;
    std::vector<NodeId> nodes;
    if (distribute(place, demand_.pods, nodes) == demand_.pods) plans.push_back(std::move(nodes));
  }
  return plans;
}

std::vector<NodeSet> NetworkPlanner::fittingScopes(std::size_t most) const {
  std::vector<PlaceId> places = gatherScopes();
  std::erase_if(places, [&](PlaceId place) { return sums_[place].slots < demand_.pods; });
  std::ranges::sort(places, [&](PlaceId a, PlaceId b) { return before(a, b, true); });
  places.resize(std::min(places.size(), most));
  std::vector<NodeSet> sets(places.size());
  for (std::size_t i = 0; i < places.size(); ++i)
    for (const NetworkTree::Place& each : tree_.places())
      if (each.node != kNoNode &&
          tree_.above(*tree_.placeOf(each.node), tree_.place(places[i]).level) == places[i])
        sets[i].insert(each.node);
  return sets;
}

std::vector<std::string> NetworkPlanner::scopes() const {
  std::vector<std::string> texts;
  for (const PlaceId id : gatherScopes()) {
    const NetworkTree::Place& place = tree_.place(id);
    texts.push_back(fmt::format("{}/{}: {}", tree_.layers().list[place.level].name, place.name,
                                sums_[id].slots));
  }
  std::ranges::sort(texts);
  return texts;
}

std::vector<NodeId> byCloseness(const NetworkTree& tree, std::span<const NetworkOffer> offers,
                                std::span<const NodeId> nodes) {
  struct Sum {
    std::int64_t existing = 0;
    std::int64_t nodes = 0;
  };
  std::vector<Sum> sums(tree.places().size());
  for (const NodeId node : nodes)
    if (const auto place = tree.placeOf(node)) sums[*place].nodes = 1;
  for (std::size_t i = sums.size(); i-- > 0;) {
    const NetworkTree::Place& place = tree.places()[i];
    if (place.node != kNoNode && place.node < offers.size())
      sums[i].existing = offers[place.node].existing;
    if (i == NetworkTree::kRoot) break;
    sums[place.parent].existing += sums[i].existing;
    sums[place.parent].nodes += sums[i].nodes;
  }
  const auto closer = [&](NodeId a, NodeId b) {
    const auto placeA = tree.placeOf(a);
    const auto placeB = tree.placeOf(b);
    if (!placeA || !placeB) return placeA.has_value() && !placeB.has_value();
    for (auto x = *placeA, y = *placeB; x != y; x = tree.place(x).parent, y = tree.place(y).parent)
      if (sums[x].existing != sums[y].existing) return sums[x].existing > sums[y].existing;
    for (auto x = *placeA, y = *placeB; x != y; x = tree.place(x).parent, y = tree.place(y).parent)
      if (sums[x].nodes != sums[y].nodes) return sums[x].nodes < sums[y].nodes;
    return tree.place(*placeA).name < tree.place(*placeB).name;
  };
  std::vector<NodeId> order(nodes.begin(), nodes.end());
  std::ranges::stable_sort(order, closer);
  return order;
}

}  // namespace koord::scheduler
