#pragma once

// NodeView: what one pod sees as free on nodes and other pods do not. A pod that owns part of a
// reservation sees that part as free although it is counted as used. All other pods see the node as
// it is.
//
// The view is sparse: nodes without a credit cost nothing, neither here nor in filters and scores,
// which read the columns of the Cluster and then correct the few nodes in the view. The credits
// that a pod may have belong to its signature (ViewPlugin), so a class of pods shares one view. It
// is kept with the class's verdicts and updated for nodes that changed.

#include <algorithm>
#include <boost/container/small_vector.hpp>
#include <boost/unordered/unordered_flat_map.hpp>
#include <span>

#include "scheduler/engine/node_set.h"
#include "scheduler/engine/pod_info.h"

namespace koord::scheduler {

// The part of a node's used resources that is free to the pod.
struct NodeCredit {
  Resources amount;
  std::int64_t nonZeroCpu = 0;  // as it is counted for scores
  std::int64_t nonZeroMemory = 0;
  std::int64_t pods = 0;
  boost::container::small_vector<HostPort, 1> ports;
};

class NodeView {
 public:
  bool empty() const { return credits_.empty(); }
  // nullptr if the node has no credit, as nearly all.
  const NodeCredit* on(NodeId node) const { return credits_.empty() ? nullptr : find(node); }
  // Calls fn(index, credit) for each node that has a credit; nodes must ascend. Nearly free if few
  // nodes have one.
  template <class F>
  void forEachOf(std::span<const NodeId> nodes, F&& fn) const {
    if (credits_.size() >= nodes.size()) {
      if (credits_.empty()) return;
      for (std::size_t n = 0; n < nodes.size(); ++n)
        if (const NodeCredit* credit = on(nodes[n])) fn(n, *credit);
      return;
    }
    for (const auto& [node, credit] : credits_) {
      const auto it = std::ranges::lower_bound(nodes, node);
      if (it != nodes.end() && *it == node)
        fn(static_cast<std::size_t>(it - nodes.begin()), credit);
    }
  }
  void set(NodeId node, NodeCredit credit);
  void erase(NodeId node);
  void erase(const NodeSet& nodes);
  void clear() { credits_.clear(); }

  static const NodeView& none() {
    static const NodeView kNone;
    return kNone;
  }

 private:
  const NodeCredit* find(NodeId node) const;

  boost::unordered_flat_map<NodeId, NodeCredit> credits_;
};

}  // namespace koord::scheduler
