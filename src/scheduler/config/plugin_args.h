#pragma once

// The arguments of plugins, Kubernetes' and Koordinator's, as documents with their defaults.

#include "scheduler/config/types.h"

namespace koord::scheduler {

// Returns true if the plugin's arguments have a kind, NAMEArgs, and are checked even if the plugin
// is disabled.
bool hasArgsKind(std::string_view plugin);

// {"apiVersion", "kind", ...} with the defaults filled in. args: as given, null = none. Plugins
// without a kind of arguments keep the given document.
json::value argsInForce(std::string_view plugin, const json::value& args);

}  // namespace koord::scheduler
