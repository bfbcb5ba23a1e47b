#include "scheduler/engine/node_parts.h"

#include <algorithm>
#include <utility>

namespace koord::scheduler {

NodePart* NodeParts::find(double value, bool make) {
  if (last_ < parts_.size() && parts_[last_].value == value) return &parts_[last_];
  const auto known = std::ranges::find(parts_, value, &NodePart::value);
  last_ = static_cast<std::size_t>(known - parts_.begin());
  if (known != parts_.end()) return &*known;
  return make && parts_.size() < kMaxShapes ? &parts_.emplace_back(NodePart{value, {}}) : nullptr;
}

bool NodeParts::put(double value, NodeId node) {
  NodePart* const part = find(value, true);
  if (part) part->nodes.insert(node);
  return part != nullptr;
}

bool NodeParts::put(double value, const NodeSet& nodes) {
  NodePart* const part = find(value, true);
  if (part) part->nodes.unite(nodes);
  return part != nullptr;
}

void NodeParts::take(double value, NodeId node) {
  NodePart* const part = find(value, false);
  if (!part) return;
  part->nodes.erase(node);
  drop(*part);
}

void NodeParts::take(double value, const NodeSet& nodes) {
  NodePart* const part = find(value, false);
  if (!part) return;
  part->nodes.subtract(nodes);
  drop(*part);
}

// If it is empty.
void NodeParts::drop(NodePart& part) {
  if (!part.nodes.empty()) return;
  std::swap(part, parts_.back());
  parts_.pop_back();
}

bool NodeParts::add(const NodeParts& other, double factor) {
  NodeParts sum;
  for (NodePart& part : parts_) {
    for (const NodePart& plus : other.parts_) {
      NodeSet both = part.nodes;
      both.intersect(plus.nodes);
      if (both.empty()) continue;
      part.nodes.subtract(both);
      if (!sum.put(part.value + factor * plus.value, both)) return false;
    }
    if (!part.nodes.empty() && !sum.put(part.value, part.nodes)) return false;
  }
  *this = std::move(sum);
  return true;
}

}  // namespace koord::scheduler
