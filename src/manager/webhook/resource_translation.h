#pragma once

// Moves a pod's requests and limits of cpu and memory to the resources of its priority class.

#include "base/json.h"
#include "model/priority.h"

namespace koord::manager {

// Containers, init containers and overhead; requests that are missing afterwards are set to the
// limits. Prod, none and free leave the pod as it is. The pod's quantities must be readable.
void translateResources(model::PriorityClass priorityClass, json::value& pod);

}  // namespace koord::manager
