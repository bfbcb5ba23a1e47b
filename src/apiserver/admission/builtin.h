#pragma once

// Admission rules that are part of the server: namespaces must exist; pods get their priority, the
// default tolerations and the limits of their namespace.

#include "apiserver/registry/registry.h"
#include "apiserver/server/target.h"

namespace koord::apiserver {

Failure namespaceNotFound(std::string_view name);

// Rejects new objects in namespaces that do not exist or are being deleted.
Outcome<> admitToNamespace(std::string_view namespace_, const Target& target, std::string_view name,
                           Store& store);

// Rejects the deletion of namespaces that every cluster needs.
Outcome<> admitNamespaceDelete(std::string_view name);

// Completes a new pod from LimitRanges, from its PriorityClass and with the default tolerations.
// Idempotent.
Outcome<> completePod(json::value& pod, Store& store);

// Adds the default tolerations to a pod. Called at each write of the spec.
void completeTolerations(json::value& pod);

// Checks an object against other objects: LimitRanges, and at most one default PriorityClass. Adds
// a warning for things that are stored but have no effect here.
Outcome<> checkAdmission(const json::value& object, const json::value* old,
                         const Resource& resource, Store& store);

}  // namespace koord::apiserver
