#pragma once

// What of a Service follows from something else: its type, the service that it replaces.

#include "base/json.h"

namespace koord::apiserver {

// Whether a service of this type has a cluster IP, ports on every node, and a port of its own for
// health checks.
bool needsClusterIp(const json::value& service);
bool needsNodePort(const json::value& service);
bool needsHealthCheckPort(const json::value& service);

// Completes a service before addresses and ports are given out. `before` is null for a new one. Of
// an old one what was given out stays when the new one leaves it out, and what its new type has no
// use for goes, unless the client changed it: then validation says so.
void settleService(json::value& service, const json::value* before);

}  // namespace koord::apiserver
