#pragma once

// The arguments of plugins, Kubernetes' and Koordinator's, as documents, with what they come to where
// nothing is given.

#include "scheduler/config/types.h"

namespace koord::scheduler {

// Whether arguments of this plugin have a kind, NAMEArgs, and are checked whatever becomes of them.
bool hasArgsKind(std::string_view plugin);

// {"apiVersion", "kind", ...} with the defaults filled in. args: as given, null = nothing. Plugins
// that have no kind of arguments keep what is given.
json::value argsInForce(std::string_view plugin, const json::value& args);

}  // namespace koord::scheduler
