#pragma once

// What pods request of the nodes before a course and after it, as the scheduler counts it.

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "scheduler/engine/cluster.h"
#include "scheduler/oracle/question.h"

namespace koord::scheduler::oracle {

inline constexpr std::size_t kMaxShownNodes = 2'000;

struct NodeChanges {
  // [{name, change, allocatable, before, after}]: nodes that the question adds, drains or loses,
  // then others whose requests differ, each by name. change: "added", "drained", "lost", or absent.
  // before and after: what pods request, and "pods", their number; resources that no pod requests
  // are absent, but for added and lost nodes. An added node has no before, a lost node no after.
  json::array nodes;
  std::size_t others = 0;  // nodes beyond kMaxShownNodes
};

// The nodes before a course. It costs 8 bytes for each node and resource in one block, because
// every question pays for it.
class NodesBefore {
 public:
  NodesBefore(const Cluster& cluster, const Question& question);

  // `after`: the same cluster, later.
  NodeChanges changes(const Cluster& after) const;

 private:
  // By column: the number of pods, then the resources by id.
  using Amounts = std::vector<std::int64_t>;
  struct LostNode {
    std::string name;
    Amounts allocatable, requested;
  };
  // Of a node that exists before and after, or 0 for a resource that was not known.
  std::int64_t requested(std::size_t column, NodeId node) const;
  Amounts requestedOf(NodeId node, std::size_t columns) const;
  NodeSet changedNodes(const Cluster& after) const;

  NodeSet kept_;     // all but the lost ones, whose ids may be used again
  NodeSet drained_;  // of these
  std::vector<LostNode> lost_;
  std::size_t capacity_ = 0;  // of a column
  Amounts requested_;         // one column after the other, each by node id
};

}  // namespace koord::scheduler::oracle
