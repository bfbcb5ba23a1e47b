#pragma once

// Capacity that requests consume of a device. A device that allows multiple allocations gives each
// a share; its request policies round what a request asks for. Any other device gives all that it
// has, and a request for capacity is only a condition.

#include "scheduler/plugins/dynamicresources/allocator/selectors.h"

namespace koord::scheduler::dra {

// What an allocation of the device consumes, by capacity. A capacity that the request does not name
// is consumed by its policy's default, or whole without one.
api::ResourceList consumedCapacity(const api::CapacityRequirements* request,
                                   const DeviceContent& device);
// Returns true if the request is valid for the device and fits what `consumed` and `allocating`
// (nullptr: nothing) leave.
bool capacityFits(const api::CapacityRequirements* request, const DeviceContent& device,
                  const api::ResourceList* consumed, const api::ResourceList* allocating);

}  // namespace koord::scheduler::dra
