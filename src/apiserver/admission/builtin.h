#pragma once

// Admission rules that are part of the server: namespaces must exist, pods get their priority, the
// tolerations every pod has and the limits of their namespace.

#include "apiserver/registry/registry.h"
#include "apiserver/server/target.h"

namespace koord::apiserver {

// Refuses new objects in namespaces that do not exist or go away.
Outcome<> admitToNamespace(std::string_view namespace_, const Target& target, std::string_view name,
                           Store& store);

// Refuses to delete the namespaces that every cluster needs.
Outcome<> admitNamespaceDelete(std::string_view name);

// Completes a new pod from LimitRanges, from its PriorityClass and with the default tolerations.
// Idempotent.
Outcome<> completePod(json::value& pod, Store& store);

// Gives a pod the tolerations that every pod has, at each write of its spec.
void completeTolerations(json::value& pod);

// What holds of an object beside others: LimitRanges, one default PriorityClass only. For things
// that are stored but have no effect here there is a warning.
Outcome<> checkAdmission(const json::value& object, const json::value* old,
                         const Resource& resource, Store& store,
                         std::vector<std::string>& warnings);

}  // namespace koord::apiserver
