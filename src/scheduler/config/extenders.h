#pragma once

// The list `extenders` of a KubeSchedulerConfiguration.

#include <vector>

#include "scheduler/config/fields.h"
#include "scheduler/config/types.h"

namespace koord::scheduler {

std::vector<ExtenderConfig> readExtenders(Fields& configuration);

// Resources that an extender manages alone are nothing for NodeResourcesFit: replaces what every
// profile tells it to ignore.
void ignoreManagedResources(SchedulerConfiguration& configuration);

}  // namespace koord::scheduler
