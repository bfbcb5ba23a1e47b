#pragma once

// DeviceAdaption: tells vendors' device plugins, which do not know koord-scheduler, which devices a
// pod was allocated, each in its own format: annotations of the pod, a label for HAMi, and a lock
// on the node if a plugin can identify pods only one at a time.

#include "base/task.h"
#include "scheduler/framework/cycle_state.h"
#include "scheduler/framework/handle.h"
#include "scheduler/plugins/deviceshare/devices/use.h"

namespace koord::scheduler {

// What to write for a pod.
struct DeviceAnnotations {
  api::StringMap annotations;
  std::string lock;  // annotation of the node; rarely set
};
// deviceLabels: of the node's Device, for vendor and model; ids: of the GPUs, in the order of the
// allocation. Fails if the vendor's plugin does not support the allocation.
Result<DeviceAnnotations> wordsFor(const AllocatedDevices& given,
                                   const api::StringMap& deviceLabels,
                                   const std::vector<std::string>& ids, WallTime now);

// A lock of a node: "2026-01-01T00:00:00Z,default,web".
struct DeviceLock {
  WallTime since{};
  api::ObjectKey pod;
};
Result<DeviceLock> parseDeviceLock(std::string_view text);

class DeviceAdaption {
 public:
  explicit DeviceAdaption(Handle& handle) : handle_(handle) {}
  // Adds to the annotations that are written with the binding, and writes the rest. `state` must
  // outlive the task.
  Task<Result<>> adapt(CycleState* state, PodPtr pod, std::string node, AllocatedDevices given,
                       api::StringMap deviceLabels, std::vector<std::string> ids);

 private:
  Task<Result<>> lock(PodPtr pod, std::string node, std::string key);
  Task<Result<bool>> isHeld(DeviceLock lock);
  Task<Result<>> labelForHami(PodPtr pod, std::string node);

  Handle& handle_;
};

}  // namespace koord::scheduler
