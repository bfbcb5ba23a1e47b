#pragma once

// The arguments of all descheduler plugins, for docs/reference/plugin-arguments.md.

#include <vector>

#include "base/field_help.h"

namespace koord::descheduler {

// Ordered by plugin name.
std::vector<ObjectHelp> describeArguments();

}  // namespace koord::descheduler
