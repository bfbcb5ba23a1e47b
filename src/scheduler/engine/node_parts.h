#pragma once

// NodeParts: nodes divided into parts, each with one number for all its nodes. Scores by labels,
// zones and the like have few different values, whatever the number of nodes.

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

  // Parts have distinct values and disjoint nodes. None is empty, except if there are no nodes at
  // all.
  const std::vector<NodePart>& parts() const { return parts_; }

  // Adds `other`'s value, times `factor`, to the nodes that are in it. Returns false if that makes
  // too many parts to be useful; the object must not be used then.
  bool add(const NodeParts& other, double factor = 1);
  // Adds a node, or nodes, that are in no part yet to the part of this value. False as above.
  bool put(double value, NodeId node);
  bool put(double value, const NodeSet& nodes);
  // Removes nodes from the part of this value.
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
  static constexpr std::size_t kMaxShapes = 128;
  NodePart* find(double value, bool make);
  void drop(NodePart& part);

  std::vector<NodePart> parts_;
  std::size_t last_ = 0;  // where the last value was found
};

}  // namespace koord::scheduler
