#pragma once

// Nodes that a drain has cordoned. A drain begins and ends within one cycle. During the drain the
// node has the annotation below, whose value is the plugin's name. If a node has it before and
// after a cycle in which no plugin worked on the node (Handle::keepDraining), a process died during
// the drain, and now no plugin drains the node (disabled, paused, other levels). Such nodes are
// uncordoned here. A node that a user has cordoned has no annotation and stays as it is.

#include <map>
#include <string>
#include <string_view>

#include "base/task.h"
#include "descheduler/framework/nodes.h"
#include "descheduler/framework/stores.h"
#include "kube/api.h"

namespace koord::descheduler {

inline constexpr std::string_view kAnnotationDrainedBy = "descheduler.koordinator.sh/drained-by";

// By node name, the plugin that began a drain of the node, as the annotations say now.
std::map<std::string, std::string> drainedNodes(Stores& stores);

// Uncordons the nodes of `before` that still have the annotation. Nodes that change meanwhile are
// left for the next cycle. Errors are logged.
Task<void> releaseDrained(kube::Api& api, Stores& stores,
                          std::map<std::string, std::string> before);

}  // namespace koord::descheduler
