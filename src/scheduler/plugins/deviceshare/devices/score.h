#pragma once

// Scores devices and nodes by their utilization; the strategy says whether the least or the most
// used is best.

#include "scheduler/plugins/deviceshare/devices/view.h"

namespace koord::scheduler {

struct DeviceScoring {
  bool most = false;  // MostAllocated; else LeastAllocated
  std::vector<std::pair<DeviceResource, std::int64_t>> weights;

  // 0 to 100, for the device after `request` has been taken from it.
  std::int64_t scoreDevice(const DeviceAmounts& request, const DeviceAmounts& total,
                           const DeviceAmounts& free) const;
  // Scores all devices of a type as one.
  std::int64_t scoreDevices(const DeviceAmounts& request,
                            const std::vector<DeviceSlot>& slots) const;
};

}  // namespace koord::scheduler
