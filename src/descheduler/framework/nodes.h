#pragma once

// The nodes of a cycle with their pods, as they were when the cycle began. Holding it keeps them as they are,
// whatever the watches bring meanwhile.

#include <memory>
#include <string>
#include <vector>

#include "api/core.h"
#include "descheduler/framework/pod.h"

namespace koord::descheduler {

using NodePtr = std::shared_ptr<const api::Node>;

struct NodeView {
  NodePtr node;
  std::shared_ptr<const NodePods> pods;  // never null

  const std::string& name() const { return node->metadata.name; }
};

// By name.
using Nodes = std::vector<NodeView>;

// No condition Ready, or one that is True. Cordoned nodes are ready.
bool isReady(const api::Node& node);

}  // namespace koord::descheduler
