#pragma once

// NodeParts: nodes divided into parts by a number that is the same for all nodes of a part: what
// labels, zones and the like make of nodes has few different values, however many nodes there are.

#include <cstdint>
#include <vector>

#include "scheduler/engine/node_set.h"

namespace koord::scheduler {

struct NodePart {
  double value = 0;
  NodeSet nodes;
};

class NodeParts {
 public:
  NodeParts() = default;
  // One part, of value 0.
  explicit NodeParts(NodeSet nodes) { parts_.push_back({0, std::move(nodes)}); }

  // Each is there once: no two have the same value or a node in common, and none is empty, except
  // when there are no nodes at all.
  const std::vector<NodePart>& parts() const { return parts_; }

  // Adds `other`'s value, times `factor`, to nodes that are in it, nothing to the rest. False when
  // that makes more parts than are worth having; the parts are of no use then.
  bool add(const NodeParts& other, double factor = 1);
  // Puts a node, or nodes, that are in no part yet where the value says. False as above.
  bool put(double value, NodeId node);
  bool put(double value, const NodeSet& nodes);
  // Takes nodes out of the part where the value says.
  void take(double value, NodeId node);
  void take(double value, const NodeSet& nodes);
  // Replaces all values.
  template <class F>
  NodeParts map(F&& fn) const {
    NodeParts mapped;
    for (const NodePart& part : parts_) mapped.put(fn(part.value), part.nodes);
    return mapped;
  }

 private:
  static constexpr std::size_t kMost = 128;
  NodePart* find(double value, bool make);
  void drop(NodePart& part);

  std::vector<NodePart> parts_;
  std::size_t last_ = 0;  // where the last value was found
};

}  // namespace koord::scheduler
