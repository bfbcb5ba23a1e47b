#pragma once

// SearchScope: where one attempt looks for a node, besides what its pod asks for. A group of pods is
// placed domain by domain; plugins that plan ahead name nodes that are tried first; scheduler
// extenders have had their say. One search serves all of them.

#include <span>

#include "scheduler/engine/node_set.h"
#include "scheduler/framework/extender_verdicts.h"

namespace koord::scheduler {

struct SearchScope {
  // Only these nodes come into question; nullptr: all. Kept results of the pod's class are used.
  const NodeSet* among = nullptr;
  // Tried one after the other before all others: the first that passes is taken, unscored.
  std::span<const NodeId> preferred{};
};

}  // namespace koord::scheduler
