#pragma once

// How devices and nodes are rated by how much of them is used: least or most is best.

#include "scheduler/plugins/deviceshare/devices/view.h"

namespace koord::scheduler {

struct DeviceScoring {
  bool most = false;  // MostAllocated; else LeastAllocated
  std::vector<std::pair<DeviceResource, std::int64_t>> weights;

  // 0 to 100: a device after `request` has been taken of it.
  std::int64_t scoreDevice(const DeviceAmounts& request, const DeviceAmounts& total,
                           const DeviceAmounts& free) const;
  // All devices of a type as one.
  std::int64_t scoreDevices(const DeviceAmounts& request,
                            const std::vector<DeviceSlot>& slots) const;
};

}  // namespace koord::scheduler
