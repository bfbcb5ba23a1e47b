#pragma once

// The devices that a pod was allocated, in the format of its annotation:
//
//   scheduling.koordinator.sh/device-allocated:
//     {"gpu": [{"minor": 0, "resources": {"koordinator.sh/gpu-core": "50", ...},
//               "id": "GPU-8c25ea37",
//               "extension": {"vfs": [{"minor": 1, "busID": "0000:09:00.2"}]}}]}

#include "base/json.h"
#include "base/result.h"
#include "scheduler/plugins/deviceshare/devices/inventory.h"
#include "scheduler/plugins/deviceshare/devices/use.h"

namespace koord::scheduler {

// Unknown types are skipped, negative amounts count as 0. Errors name the field, as "gpu[0].minor".
Result<AllocatedDevices> parseAllocatedDevices(std::string_view annotation);
// The devices of the annotation with the ids that their Device had for them; empty if the
// annotation cannot be read.
struct AllocatedId {
  DeviceType type = DeviceType::Gpu;
  int minor = 0;
  std::string id;
};
std::vector<AllocatedId> parseAllocatedIds(std::string_view annotation);
// With the ids that the node's Device has for the devices.
json::object describeAllocatedDevices(const AllocatedDevices& given,
                                      const DeviceInventory& inventory);

}  // namespace koord::scheduler
