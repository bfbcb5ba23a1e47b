#pragma once

// Ephemeral containers, which `kubectl debug` adds to a running pod through the subresource
// ephemeralcontainers. They are only added: never with the pod, changed or removed.

#include <set>
#include <string>

#include "apiserver/objects/failure.h"

namespace koord::apiserver {

// The rules in addition to those of all containers. `names`: of the pod's other containers.
void validateEphemeralContainers(const json::array& containers, const std::string& path,
                                 const std::set<std::string>& names, FieldErrors& errors);
// A new pod has none.
void validateNoEphemeralContainers(const json::value& pod, FieldErrors& errors);
// Checks an update by the subresource.
void validateEphemeralUpdate(const json::value& before, const json::value& after,
                             FieldErrors& errors);

}  // namespace koord::apiserver
