#pragma once

// Parses a pod's requests of devices: which combinations of resources are valid, in Koordinator's
// terms, and the amount of each GPU.

#include "base/result.h"
#include "scheduler/plugins/deviceshare/devices/amounts.h"

namespace koord::scheduler {

// By type, under the names of the devices' resources (gpu-core and gpu-memory-ratio for
// nvidia.com/gpu), and gpu.shared: the number of parts. Empty if no devices are requested.
using DeviceRequests = ByDeviceType<api::ResourceList>;

// podRequests: all requests of the pod. Errors are messages for users about an invalid combination
// or amount.
Result<DeviceRequests> readDeviceRequests(const api::ResourceList& podRequests);
bool isEmpty(const DeviceRequests& requests);

// What to search for a request of GPUs.
struct GpuRequirement {
  DeviceAmounts each;
  int count = 1;
  bool shared = false;  // a part of each GPU only
  bool operator==(const GpuRequirement&) const = default;
};
GpuRequirement gpuRequirementOf(const api::ResourceList& request);

// Converts GPU memory from percent of the GPU's total to bytes and back. Bytes are rounded down,
// percent up, so that allocations do not exceed the total. With asUpstream, percent are rounded
// down, too.
std::int64_t memoryBytesOf(std::int64_t ratio, std::int64_t total);
std::int64_t memoryRatioOf(std::int64_t bytes, std::int64_t total, bool asUpstream = false);

}  // namespace koord::scheduler
