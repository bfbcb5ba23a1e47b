#pragma once

// NodeFilter: the nodes that one Filter plugin has to judge, all at once. The plugin rejects nodes with a
// reason; what it does not reject passes. It must give the same verdict for a node whichever other nodes
// are in the batch.

#include <string>
#include <vector>

#include "scheduler/engine/node_set.h"
#include "scheduler/engine/verdicts.h"

namespace koord::scheduler {

class NodeFilter {
 public:
  // Without verdicts nobody is told why a node is rejected.
  NodeFilter(NodeSet& nodes, Verdicts* verdicts, std::uint16_t plugin)
      : nodes_(nodes), verdicts_(verdicts), plugin_(plugin) {}

  // The nodes that are left. Rejecting the node at hand while walking them is fine.
  const NodeSet& nodes() const { return nodes_; }
  template <class F>
  void forEach(F&& fn) {
    nodes_.forEach(fn);
  }
  // Of these nodes only.
  template <class F>
  void forEachIn(const NodeSet& some, F&& fn) {
    nodes_.forEachIn(some, fn);
  }

  // A rejection to hand out to many nodes.
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
