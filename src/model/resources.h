#pragma once

// The native resources (cpu, memory) and their counterparts of each priority class.

#include <string_view>

#include "api/meta.h"
#include "model/priority.h"

namespace koord::model {

// The resource that pods of the class request for cpu or memory: batch-*, mid-*, or the native name
// for prod and none. Empty if the class has no such resource (free), or for other native names of
// the batch and mid classes.
std::string_view resourceNameOf(PriorityClass priorityClass, std::string_view native);

// The amount in the unit of the class's resource: milli-cores as an integer for the cpu of batch
// and mid.
Quantity translateAmount(std::string_view native, const Quantity& amount);

// A list's entry, or zero.
Quantity amountOf(const api::ResourceList& list, std::string_view name);
bool has(const api::ResourceList& list, std::string_view name);

// Adds `list` to `sum`, name by name.
void addTo(api::ResourceList& sum, const api::ResourceList& list);

}  // namespace koord::model
