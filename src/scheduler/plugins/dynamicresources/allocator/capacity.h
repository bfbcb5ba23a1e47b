#pragma once

// Capacity that requests consume of a device. A device that allows multiple allocations gives a
// share to each; its request policies round the requested amount. Any other device gives all of its
// capacity, and a request for capacity is only a condition.

#include "scheduler/plugins/dynamicresources/allocator/selectors.h"

namespace koord::scheduler::dra {

// What an allocation of the device consumes, by capacity. Of a capacity that the request does not
// name, it consumes the default of the policy, or everything if there is no policy.
api::ResourceList consumedCapacity(const api::CapacityRequirements* request,
                                   const DeviceContent& device);
// Returns true if the request is valid for the device and fits what `consumed` and `allocating`
// (nullptr: nothing) leave.
bool capacityFits(const api::CapacityRequirements* request, const DeviceContent& device,
                  const api::ResourceList* consumed, const api::ResourceList* allocating);

}  // namespace koord::scheduler::dra
