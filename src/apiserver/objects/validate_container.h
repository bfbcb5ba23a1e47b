#pragma once

// The ports and probes of containers.

#include <set>

#include "apiserver/objects/failure.h"

namespace koord::apiserver {

// `hostPorts` has what earlier containers of the pod take of their node.
void validateContainerPorts(const json::array& ports, const std::string& path, bool hostNetwork,
                            std::set<std::string>& hostPorts, FieldErrors& errors);
// All that a container has.
void validateProbes(const json::value& container, const std::string& path, FieldErrors& errors);

}  // namespace koord::apiserver
