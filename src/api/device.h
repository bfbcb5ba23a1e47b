#pragma once

// scheduling.koordinator.sh/v1alpha1: Device, the accelerators and network cards of a node, written
// by koordlet.

#include "api/meta.h"

namespace koord::api {

struct DeviceTopology {
  std::int32_t socketID = 0;
  std::int32_t nodeID = 0;  // NUMA node; -1: unknown
  std::string pcieID;
  std::string busID;
};
struct VirtualFunction {
  std::int32_t minor = 0;
  std::string busID;
};
struct VirtualFunctionGroup {
  StringMap labels;
  List<VirtualFunction> vfs;
};
struct DeviceInfo {
  std::string type;  // gpu, rdma, fpga
  StringMap labels;
  std::string id;
  std::optional<std::int32_t> minor;
  std::optional<std::int32_t> moduleID;
  bool health = false;
  ResourceList resources;
  std::optional<DeviceTopology> topology;
  List<VirtualFunctionGroup> vfGroups;
  List<Condition> conditions;  // Healthy; present on unhealthy devices only
};
struct DeviceSpec {
  List<DeviceInfo> devices;
};
struct Device {
  static constexpr ResourceType kType{"scheduling.koordinator.sh", "v1alpha1", "devices", "Device",
                                      false};
  ObjectMeta metadata;
  DeviceSpec spec;
};

}  // namespace koord::api
