#include "scheduler/plugins/deviceshare/devices/use.h"

#include <algorithm>

namespace koord::scheduler {

bool isEmpty(const AllocatedDevices& given) {
  return std::ranges::all_of(given, [](const auto& devices) { return devices.empty(); });
}

void DeviceUse::add(const AllocatedDevices& given) {
  for (const DeviceType type : kDeviceTypes) {
    for (const AllocatedDevice& device : at(given, type)) {
      if (!device.amounts.isZero()) at(used_, type)[device.minor].add(device.amounts);
      for (const auto& function : device.functions)
        at(functions_, type).emplace(device.minor, function.busId);
    }
  }
}

void DeviceUse::remove(const AllocatedDevices& given) {
  for (const DeviceType type : kDeviceTypes) {
    auto& used = at(used_, type);
    for (const AllocatedDevice& device : at(given, type)) {
      if (const auto it = used.find(device.minor); it != used.end()) {
        it->second.subtract(device.amounts);
        if (it->second.isZero()) used.erase(it);
      }
      auto& functions = at(functions_, type);
      for (const auto& function : device.functions)
        if (const auto it = functions.find({device.minor, function.busId}); it != functions.end())
          functions.erase(it);
    }
  }
}

bool DeviceUse::operator==(const DeviceUse& other) const {
  const auto same = [](const auto& a, const auto& b) {
    return a.first == b.first && a.second.covers(b.second) && b.second.covers(a.second);
  };
  for (const DeviceType type : kDeviceTypes)
    if (!std::ranges::equal(at(used_, type), at(other.used_, type), same)) return false;
  return functions_ == other.functions_;
}

}  // namespace koord::scheduler
