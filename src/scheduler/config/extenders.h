#pragma once

// The list `extenders` of a KubeSchedulerConfiguration.

#include <vector>

#include "scheduler/config/fields.h"
#include "scheduler/config/types.h"

namespace koord::scheduler {

std::vector<ExtenderConfig> readExtenders(Fields& configuration);

// NodeResourcesFit does not check resources that only an extender manages: sets the ignored
// resources of every profile.
void ignoreManagedResources(SchedulerConfiguration& configuration);

}  // namespace koord::scheduler
