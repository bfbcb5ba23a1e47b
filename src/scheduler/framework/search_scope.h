#pragma once

// SearchScope: where one attempt searches, in addition to the pod's own constraints: a domain of
// nodes for a group, nodes that a planning plugin prefers, or the nodes that scheduler extenders
// passed.

#include <span>

#include "scheduler/engine/node_set.h"
#include "scheduler/framework/extender_verdicts.h"

namespace koord::scheduler {

struct SearchScope {
  // Only these nodes are considered; nullptr: all. Kept results of the pod's class are used.
  const NodeSet* among = nullptr;
  // Tried in this order before all others. The first node that passes is taken without scoring.
  std::span<const NodeId> preferred{};
  // If several nodes have the best score and this is one of them, it is taken and not a random one.
  NodeId favored = kNoNode;
  // False: the diagnosis of a search that finds no node stays empty, which is cheaper.
  bool diagnose = true;
};

}  // namespace koord::scheduler
