#pragma once

// Nodes that a drain has cordoned. A drain begins and ends within one cycle; while it lasts the node has the
// annotation below, whose value is the plugin's name. A node that has it before and after a cycle was left behind: the
// process died in the middle, and now no plugin wants the node any more (switched off, paused, other levels). Such
// nodes are uncordoned here. A node that somebody else has cordoned has no annotation and stays as it is.

#include <map>
#include <string>
#include <string_view>

#include "base/task.h"
#include "descheduler/framework/nodes.h"
#include "descheduler/framework/stores.h"
#include "kube/api.h"

namespace koord::descheduler {

inline constexpr std::string_view kAnnotationDrainedBy = "descheduler.koordinator.sh/drained-by";

// Plugins by the name of the node whose drain they began, as the annotations say now.
std::map<std::string, std::string> drainedNodes(Stores& stores);

// Uncordons those of `before` that still have the annotation. What changes meanwhile is left for the next cycle;
// errors are logged.
Task<void> releaseDrained(kube::Api& api, Stores& stores,
                          std::map<std::string, std::string> before);

}  // namespace koord::descheduler
