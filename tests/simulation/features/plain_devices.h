#pragma once

// PlainDevices: who can have which devices, on API objects alone, for plain evaluation. Devices are counted:
// so many GPUs of which so much is free. Virtual functions, joint allocation, and nodes on which a
// reservation holds devices are called undecided.

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "api/device.h"
#include "scheduler/plugins/reference_evaluator.h"

namespace koord::simulation {

// By type and number, the amounts of each.
using DeviceKey = std::pair<std::string, int>;
using DeviceParts = std::map<DeviceKey, std::map<std::string, std::int64_t>>;

// What a pod says that it was given (annotation device-allocated).
struct PlainDeviceGrant {
  DeviceParts parts;
  std::set<std::pair<DeviceKey, std::string>> functions;  // with their bus ids
  bool operator==(const PlainDeviceGrant&) const = default;
  static PlainDeviceGrant of(const api::StringMap& annotations);
};

// What a node has that works.
DeviceParts partsOf(const api::Device& device);
std::set<std::pair<DeviceKey, std::string>> functionsOf(const api::Device& device);

// What a pod asks for: so many devices of a type with so much of each.
struct PlainDeviceWish {
  struct Part {
    std::string type;
    int count = 0;
    std::map<std::string, std::int64_t> each;
  };
  std::vector<Part> parts;
  bool simple = true;  // counting tells everything
  static PlainDeviceWish of(const api::Pod& pod);
};

class PlainDevices {
 public:
  using Model = scheduler::testing::Model;
  std::map<std::string, std::shared_ptr<const DeviceParts>> devices;  // by node
  std::set<std::string> listed;                  // nodes that have, or had, some
  std::map<std::string, PlainDeviceGrant> held;  // by uid

  enum class Answer { Fits, Lacks, Undecided };
  Answer ask(const Model& now, const api::Pod& pod, const api::Node& node) const;
};

}  // namespace koord::simulation
