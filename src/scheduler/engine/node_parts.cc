#include "scheduler/engine/node_parts.h"

#include <algorithm>

namespace koord::scheduler {

NodePart* NodeParts::find(double value) {
  if (last_ < parts_.size() && parts_[last_].value == value) return &parts_[last_];
  const auto known = std::ranges::find(parts_, value, &NodePart::value);
  last_ = static_cast<std::size_t>(known - parts_.begin());
  if (known != parts_.end()) return &*known;
  return parts_.size() < kMost ? &parts_.emplace_back(NodePart{value, {}}) : nullptr;
}

bool NodeParts::put(double value, NodeId node) {
  NodePart* const part = find(value);
  if (part) part->nodes.insert(node);
  return part != nullptr;
}

bool NodeParts::put(double value, const NodeSet& nodes) {
  NodePart* const part = find(value);
  if (part) part->nodes.unite(nodes);
  return part != nullptr;
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
