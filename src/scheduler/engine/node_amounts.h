#pragma once

// NodeAmounts: a number for every node, 0 for most. Few entries are stored in a hash map, many in
// an array, so that thousands of these objects cost memory only for their entries.

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <vector>

#include "scheduler/engine/node_set.h"

namespace koord::scheduler {

class NodeAmounts {
 public:
  void add(NodeId node, std::int64_t by) {
    if (by == 0) return;
    highest_ = std::max(highest_, node);
    if (all_.empty()) {
      const auto it = few_.try_emplace(node, 0).first;
      it->second += by;
      if (it->second == 0) few_.erase(it);
      if (few_.size() > kFew && few_.size() * 4 > highest_) spread();
      return;
    }
    if (node >= all_.size()) all_.resize(node + node / 4 + 1);
    std::int64_t& slot = all_[node];
    nonZero_ += static_cast<std::size_t>(slot == 0);
    slot += by;
    nonZero_ -= static_cast<std::size_t>(slot == 0);
    if (nonZero_ == 0) all_ = {};
  }
  std::int64_t at(NodeId node) const {
    if (!all_.empty()) return node < all_.size() ? all_[node] : 0;
    const auto it = few_.find(node);
    return it == few_.end() ? 0 : it->second;
  }
  bool empty() const { return all_.empty() ? few_.empty() : nonZero_ == 0; }
  // The number of nodes whose amount is not 0.
  std::size_t size() const { return all_.empty() ? few_.size() : nonZero_; }
  void clear() { *this = {}; }

  // fn(node, amount) for all amounts that are not 0, in no particular order.
  template <class F>
  void forEach(F&& fn) const {
    if (all_.empty()) {
      for (const auto& [node, amount] : few_) fn(node, amount);
    } else {
      for (std::size_t node = 0; node < all_.size(); ++node)
        if (all_[node] != 0) fn(static_cast<NodeId>(node), all_[node]);
    }
  }

 private:
  static constexpr std::size_t kFew = 64;

  void spread() {
    all_.resize(highest_ + 1);
    nonZero_ = few_.size();
    for (const auto& [node, amount] : few_) all_[node] = amount;
    few_ = {};
  }

  boost::unordered_flat_map<NodeId, std::int64_t> few_;  // used while all_ is empty
  std::vector<std::int64_t> all_;
  std::size_t nonZero_ = 0;  // in all_
  NodeId highest_ = 0;
};

}  // namespace koord::scheduler
