#pragma once

// PlainDevices: which pods can get which devices, from API objects alone, for plain evaluation.
// Devices are counted: how many GPUs have how much free. Virtual functions, joint allocation, and
// nodes on which a reservation holds devices are undecided.

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "api/device.h"
#include "scheduler/framework/handle.h"
#include "scheduler/plugins/deviceshare/devices/use.h"
#include "scheduler/plugins/reference_evaluator.h"

namespace koord::simulation {

// Type and minor.
using DeviceKey = std::pair<std::string, int>;
using DeviceParts = std::map<DeviceKey, std::map<std::string, std::int64_t>>;

// A pod's allocation (annotation device-allocated).
struct PlainDeviceGrant {
  DeviceParts parts;
  std::set<std::pair<DeviceKey, std::string>> functions;  // with their bus ids
  bool operator==(const PlainDeviceGrant&) const = default;
  static PlainDeviceGrant of(const api::StringMap& annotations);
  static PlainDeviceGrant of(const scheduler::AllocatedDevices& given);
};

// The healthy devices of a node.
DeviceParts partsOf(const api::Device& device);
std::set<std::pair<DeviceKey, std::string>> functionsOf(const api::Device& device);

// A pod's request: a number of devices of a type with an amount of each.
struct PlainDeviceWish {
  struct Part {
    std::string type;
    int count = 0;
    std::map<std::string, std::int64_t> each;
  };
  std::vector<Part> parts;
  bool simple = true;  // counting decides everything
  static PlainDeviceWish of(const api::Pod& pod);
};

class PlainDevices {
 public:
  using Model = scheduler::testing::Model;
  std::map<std::string, std::shared_ptr<const DeviceParts>> devices;  // by node
  std::set<std::string> managed;                 // nodes with devices that are known
  std::map<std::string, PlainDeviceGrant> held;  // by uid

  // As the process knows them, without the allocation of one pod.
  static std::shared_ptr<PlainDevices> of(scheduler::Handle& handle, const std::string& without);

  enum class Answer { Fits, Lacks, Undecided };
  Answer ask(const Model& now, const api::Pod& pod, const api::Node& node) const;
};

}  // namespace koord::simulation
