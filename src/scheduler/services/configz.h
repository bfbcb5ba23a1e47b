#pragma once

// The configuration in force, as /configz shows it: {"componentconfig": ...} with the names of Go's
// internal type.

#include "base/json.h"
#include "scheduler/config/types.h"

namespace koord::scheduler {

json::value configz(const SchedulerConfiguration& configuration);

}  // namespace koord::scheduler
