#pragma once

// What pods have been given of a node's devices: one pod's share, and the sum over all pods. Both
// know of no Device object, so they are right before it has been read and after it is gone.

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "scheduler/plugins/deviceshare/devices/amounts.h"

namespace koord::scheduler {

struct GivenFunction {
  int minor = 0;
  std::string busId;
  bool operator==(const GivenFunction&) const = default;
};

struct GivenDevice {
  int minor = 0;
  DeviceAmounts amounts;
  std::vector<GivenFunction> functions;
  std::string gpuTemplate;  // that the amounts are of; usually none
  bool operator==(const GivenDevice&) const = default;
};

using GivenDevices = ByDeviceType<std::vector<GivenDevice>>;
bool isEmpty(const GivenDevices& given);

// Amounts by minor.
using AmountsByMinor = std::map<int, DeviceAmounts>;

class DeviceUse {
 public:
  void add(const GivenDevices& given);
  // What was added before.
  void remove(const GivenDevices& given);

  // Only devices of which something is used.
  const AmountsByMinor& of(DeviceType type) const { return at(used_, type); }
  bool hasFunction(DeviceType type, int minor, const std::string& busId) const {
    return at(functions_, type).contains({minor, busId});
  }
  bool empty() const {
    return std::ranges::all_of(used_, [](const auto& used) { return used.empty(); }) &&
           std::ranges::all_of(functions_, [](const auto& taken) { return taken.empty(); });
  }
  // Whether the amounts are the same; a resource that is named with nothing of it is no difference.
  bool operator==(const DeviceUse& other) const;

 private:
  ByDeviceType<AmountsByMinor> used_;
  ByDeviceType<std::multiset<std::pair<int, std::string>>> functions_;
};

}  // namespace koord::scheduler
