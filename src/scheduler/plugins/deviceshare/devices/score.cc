#include "scheduler/plugins/deviceshare/devices/score.h"

#include <algorithm>

namespace koord::scheduler {

std::int64_t DeviceScoring::scoreDevice(const DeviceAmounts& request, const DeviceAmounts& total,
                                        const DeviceAmounts& free) const {
  std::int64_t sum = 0;
  std::int64_t weightSum = 0;
  for (const auto& [resource, weight] : weights) {
    const std::int64_t capacity = total[resource];
    if (capacity == 0) continue;
    const std::int64_t taken =
        capacity < free[resource] ? capacity : capacity - free[resource] + request[resource];
    const std::int64_t counted = most               ? std::min(taken, capacity)
                                 : taken > capacity ? 0
                                                    : capacity - taken;
    sum += weight * static_cast<std::int64_t>(static_cast<__int128>(counted) * 100 / capacity);
    weightSum += weight;
  }
  return weightSum == 0 ? 0 : sum / weightSum;
}

std::int64_t DeviceScoring::scoreDevices(const DeviceAmounts& request,
                                         const std::vector<DeviceSlot>& slots) const {
  DeviceAmounts total;
  DeviceAmounts free;
  for (const DeviceSlot& slot : slots) {
    total.add(slot.total);
    free.add(slot.free);
  }
  return scoreDevice(request, total, free);
}

}  // namespace koord::scheduler
