#pragma once

// The allocated devices of a node: one pod's share, and the sum over all pods. Both are independent
// of the Device object, so they are correct before it is read and after it is deleted.

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "scheduler/plugins/deviceshare/devices/amounts.h"

namespace koord::scheduler {

struct AllocatedFunction {
  int minor = 0;
  std::string busId;
  bool operator==(const AllocatedFunction&) const = default;
};

struct AllocatedDevice {
  int minor = 0;
  DeviceAmounts amounts;
  std::vector<AllocatedFunction> functions;
  std::string gpuTemplate;  // the template of the amounts; rarely set
  bool operator==(const AllocatedDevice&) const = default;
};

using AllocatedDevices = ByDeviceType<std::vector<AllocatedDevice>>;
bool isEmpty(const AllocatedDevices& given);

// Amounts by minor.
using AmountsByMinor = std::map<int, DeviceAmounts>;

class DeviceUse {
 public:
  void add(const AllocatedDevices& given);
  // `given` must have been added before.
  void remove(const AllocatedDevices& given);

  // Only devices of which something is used.
  const AmountsByMinor& of(DeviceType type) const { return at(used_, type); }
  // Returns true if something of the device is used.
  bool has(DeviceType type, int minor) const {
    const auto& functions = at(functions_, type);
    const auto it = functions.lower_bound({minor, ""});
    return of(type).contains(minor) || (it != functions.end() && it->first == minor);
  }
  bool hasFunction(DeviceType type, int minor, const std::string& busId) const {
    return at(functions_, type).contains({minor, busId});
  }
  bool empty() const {
    return std::ranges::all_of(used_, [](const auto& used) { return used.empty(); }) &&
           std::ranges::all_of(functions_, [](const auto& taken) { return taken.empty(); });
  }
  // Returns true if the amounts are equal; a resource with amount 0 equals a missing one.
  bool operator==(const DeviceUse& other) const;

 private:
  ByDeviceType<AmountsByMinor> used_;
  ByDeviceType<std::multiset<std::pair<int, std::string>>> functions_;
};

}  // namespace koord::scheduler
