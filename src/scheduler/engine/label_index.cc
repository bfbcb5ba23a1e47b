#include "scheduler/engine/label_index.h"

#include <algorithm>

namespace koord::scheduler {

void LabelIndex::Holders::add(NodeId node) {
  if (size < kFew) {
    few.push_back(node);
  } else {
    if (size == kFew) {
      for (const NodeId member : few) many.insert(member);
      few = {};
    }
    many.insert(node);
  }
  ++size;
}

void LabelIndex::Holders::remove(NodeId node) {
  --size;
  if (few.empty()) {
    many.erase(node);
    if (size > kFew) return;
    // Converts back to a list, which add() expects up to kFew members.
    many.copyTo(few);
    many = {};
  } else {
    std::erase(few, node);
  }
}

void LabelIndex::Holders::collect(NodeSet& out) const {
  if (few.empty()) {
    out.unite(many);
  } else {
    for (const NodeId node : few) out.insert(node);
  }
}

void LabelIndex::add(NodeId node, std::span<const Label> labels) {
  for (const Label label : labels) {
    byKey_[label.key].add(node);
    byLabel_[pack(label)].add(node);
  }
}

void LabelIndex::remove(NodeId node, std::span<const Label> labels) {
  const auto drop = [node](auto& map, auto key) {
    const auto it = map.find(key);
    if (it == map.end()) return;
    it->second.remove(node);
    if (it->second.size == 0) map.erase(it);
  };
  for (const Label label : labels) {
    drop(byKey_, label.key);
    drop(byLabel_, pack(label));
  }
}

void LabelIndex::collect(Symbol key, NodeSet& out) const {
  if (const auto it = byKey_.find(key); it != byKey_.end()) it->second.collect(out);
}

void LabelIndex::collect(Label label, NodeSet& out) const {
  if (const auto it = byLabel_.find(pack(label)); it != byLabel_.end()) it->second.collect(out);
}

std::size_t LabelIndex::count(Label label) const {
  const auto it = byLabel_.find(pack(label));
  return it == byLabel_.end() ? 0 : it->second.size;
}

}  // namespace koord::scheduler
