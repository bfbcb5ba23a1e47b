#pragma once

// A snapshot of the nodes of a cycle with their pods. Watch events do not change it.

#include <memory>
#include <string>
#include <vector>

#include "api/core.h"
#include "descheduler/framework/pod.h"

namespace koord::descheduler {

using NodePtr = std::shared_ptr<const api::Node>;

struct NodeView {
  NodePtr node;
  std::shared_ptr<const NodePods> pods;  // never nullptr

  const std::string& name() const { return node->metadata.name; }
};

// By name.
using Nodes = std::vector<NodeView>;

// Returns true if the condition Ready is True or absent. Cordoned nodes are ready.
bool isReady(const api::Node& node);

}  // namespace koord::descheduler
