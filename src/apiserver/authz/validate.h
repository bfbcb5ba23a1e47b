#pragma once

// Defaults and validation of Roles, ClusterRoles and their bindings, with the messages of the
// Kubernetes API. Objects of other kinds pass.

#include "apiserver/objects/failure.h"
#include "apiserver/registry/resource.h"

namespace koord::apiserver {

// Sets the API groups of a binding's role and subjects.
void completeRbac(json::value& object, const Resource& resource);

// `old` is null for new objects.
Outcome<> validateRbac(const json::value& object, const json::value* old, const Resource& resource);

}  // namespace koord::apiserver
