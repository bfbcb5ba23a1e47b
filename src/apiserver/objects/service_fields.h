#pragma once

// The fields of a Service that follow from its type and from the service that it replaces.

#include "base/json.h"

namespace koord::apiserver {

// Return true if a service of this type has a cluster IP, node ports, and a health check node port.
bool needsClusterIp(const json::value& service);
bool needsNodePort(const json::value& service);
bool needsHealthCheckPort(const json::value& service);

// Completes a service before it gets addresses and ports. `before` is null for a new service. If
// the new version leaves out the addresses and ports of the old one, they stay. Those that the new
// type does not use are removed, unless the client changed them: then validation reports them.
void completeService(json::value& service, const json::value* before);

}  // namespace koord::apiserver
