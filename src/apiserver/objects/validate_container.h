#pragma once

// The ports and probes of containers.

#include <set>

#include "apiserver/objects/failure.h"

namespace koord::apiserver {

// `hostPorts`: the host ports of the pod's earlier containers.
void validateContainerPorts(const json::array& ports, const std::string& path, bool hostNetwork,
                            std::set<std::string>& hostPorts, FieldErrors& errors);
// Checks all probes of a container.
void validateProbes(const json::value& container, const std::string& path, FieldErrors& errors);

}  // namespace koord::apiserver
