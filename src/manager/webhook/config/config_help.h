#pragma once

// The keys of the ConfigMap slo-controller-config and all of their fields, for
// docs/reference/slo-controller-config.md. Defaults come from the default strategies of
// koord-manager and koordlet, ranges from the rules of the webhook.

#include <vector>

#include "base/field_help.h"

namespace koord::manager {

// One object for each key of the ConfigMap, in the order of the reference page. The name is the
// key. Paths of resource-qos-config are those of one class ("cpuQOS.enable").
std::vector<ObjectHelp> describeSloConfig();

}  // namespace koord::manager
