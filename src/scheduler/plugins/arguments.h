#pragma once

// The arguments of all scheduler plugins, for docs/reference/plugin-arguments.md.

#include <vector>

#include "base/field_help.h"

namespace koord::scheduler {

// Ordered by plugin name, without plugins that have no arguments.
std::vector<ObjectHelp> describeArguments();

}  // namespace koord::scheduler
