#pragma once

// DeviceAdaption: tells vendors' device plugins, which know nothing of koord-scheduler, which devices a
// pod was given, each in its own words: annotations of the pod, a label for HAMi, and a lock on the
// node where a plugin can only tell pods apart by taking one at a time.

#include "base/task.h"
#include "scheduler/framework/cycle_state.h"
#include "scheduler/framework/handle.h"
#include "scheduler/plugins/deviceshare/devices/use.h"

namespace koord::scheduler {

// What is to be written for a pod.
struct DeviceWords {
  api::StringMap annotations;
  std::string lock;  // annotation of the node; nearly always none
};
// deviceLabels: of the node's Device, for vendor and model; ids: of the GPUs, as they are given. An
// error says what the vendor's plugin cannot do.
Result<DeviceWords> wordsFor(const GivenDevices& given, const api::StringMap& deviceLabels,
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
  // Adds to the annotations that travel with the binding, and writes the rest. `state` outlives it.
  Task<Result<>> adapt(CycleState* state, PodPtr pod, std::string node, GivenDevices given,
                       api::StringMap deviceLabels, std::vector<std::string> ids);

 private:
  Task<Result<>> lock(PodPtr pod, std::string node, std::string key);
  Task<Result<bool>> isHeld(DeviceLock lock);
  Task<Result<>> labelForHami(PodPtr pod, std::string node);

  Handle& handle_;
};

}  // namespace koord::scheduler
