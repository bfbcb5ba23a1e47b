#pragma once

// NodeFilter: the nodes that one Filter plugin judges in one call. The plugin rejects nodes with a
// reason; the others pass. The verdict for a node must not depend on the other nodes in the batch.

#include <string>
#include <vector>

#include "scheduler/engine/node_set.h"
#include "scheduler/engine/verdicts.h"

namespace koord::scheduler {

class NodeFilter {
 public:
  // Without verdicts, the reasons of rejections are dropped.
  NodeFilter(NodeSet& nodes, Verdicts* verdicts, std::uint16_t plugin)
      : nodes_(nodes), verdicts_(verdicts), plugin_(plugin) {}

  // The nodes that are left. A callback of forEach may reject the current node.
  const NodeSet& nodes() const { return nodes_; }
  template <class F>
  void forEach(F&& fn) {
    nodes_.forEach(fn);
  }
  // Calls fn for the nodes that are left and in `some`.
  template <class F>
  void forEachIn(const NodeSet& some, F&& fn) {
    nodes_.forEachIn(some, fn);
  }

  // Returns a rejection that can be applied to many nodes.
  VerdictId rejection(Code code, std::vector<std::string> reasons) {
    constexpr VerdictId kUntold = 1;
    return verdicts_ ? verdicts_->intern({plugin_, code, std::move(reasons)}) : kUntold;
  }
  void reject(NodeId node, VerdictId rejection) {
    nodes_.erase(node);
    if (verdicts_) verdicts_->set(node, rejection);
  }
  void reject(NodeId node, Code code, std::string reason) {
    reject(node, rejection(code, {std::move(reason)}));
  }
  // Rejects every node that is not in `allowed`.
  void keepOnly(const NodeSet& allowed, Code code, std::string reason) {
    if (!verdicts_) return nodes_.intersect(allowed);
    rejectEach(nodes_, code, std::move(reason),
               [&](NodeId node) { return !allowed.contains(node); });
  }
  // Rejects every node that is in `bad`.
  void rejectAny(const NodeSet& bad, Code code, std::string reason) {
    if (!verdicts_) return nodes_.subtract(bad);
    rejectEach(bad, code, std::move(reason), [&](NodeId node) { return nodes_.contains(node); });
  }
  void rejectAll(Code code, std::string reason) {
    rejectEach(nodes_, code, std::move(reason), [](NodeId) { return true; });
  }

 private:
  template <class F>
  void rejectEach(const NodeSet& among, Code code, std::string reason, F&& isBad) {
    VerdictId id = kPasses;
    among.forEach([&](NodeId node) {
      if (!isBad(node)) return;
      if (id == kPasses) id = rejection(code, {std::move(reason)});
      reject(node, id);
    });
  }

  NodeSet& nodes_;
  Verdicts* verdicts_;
  std::uint16_t plugin_;
};

}  // namespace koord::scheduler
