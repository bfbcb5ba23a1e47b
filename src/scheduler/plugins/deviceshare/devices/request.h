#pragma once

// What devices a pod asks for: which combinations of resources mean something, in the terms of
// koordinator, and what of each GPU.

#include "base/result.h"
#include "scheduler/plugins/deviceshare/devices/amounts.h"

namespace koord::scheduler {

// By type, under the names that devices have (gpu-core and gpu-memory-ratio for nvidia.com/gpu), and
// gpu.shared, in how many parts. Empty where nothing is asked.
using DeviceRequests = ByDeviceType<api::ResourceList>;

// podRequests: all of the pod's. Errors are those that users read, about a combination that means
// nothing or an amount that cannot be given.
Result<DeviceRequests> readDeviceRequests(const api::ResourceList& podRequests);
bool isEmpty(const DeviceRequests& requests);

// What to find for a request of GPUs.
struct GpuRequirement {
  DeviceAmounts each;
  int count = 1;
  bool shared = false;  // part of each only
  bool operator==(const GpuRequirement&) const = default;
};
GpuRequirement gpuRequirementOf(const api::ResourceList& request);

// GPU memory in percent of what the GPU has, and back. Bytes are rounded down, percent up: what is
// handed out must not be more than there is. With asUpstream, percent are rounded down, too.
std::int64_t memoryBytesOf(std::int64_t ratio, std::int64_t total);
std::int64_t memoryRatioOf(std::int64_t bytes, std::int64_t total, bool asUpstream = false);

}  // namespace koord::scheduler
