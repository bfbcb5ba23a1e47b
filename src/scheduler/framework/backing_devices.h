#pragma once

// BackingDevices: the devices that stand for extended resources on nodes without a device plugin
// (framework/device_backed.h), for plugins that count these resources.

#include <optional>

#include "scheduler/framework/device_backed.h"
#include "scheduler/framework/handle.h"
#include "scheduler/framework/profile.h"

namespace koord::scheduler {

class BackingDevices {
 public:
  using Devices = DeviceBackedResources::Devices;
  explicit BackingDevices(Handle& handle) : handle_(handle) {}

  // False for all resources if no plugin of the profile allocates devices.
  bool isBacked(ResourceId resource) const {
    return resource >= kFirstScalar && plugin() && plugin()->isBacked(resource);
  }
  // The resource must be backed.
  Devices on(ResourceId resource, NodeId node) const { return plugin()->devicesOn(resource, node); }
  bool beginsToBack(const ClusterEvent& event, const PodInfo& pod) const {
    return plugin() && plugin()->beginsToBack(event, pod);
  }

 private:
  const DeviceBackedResources* plugin() const {
    if (!plugin_) {
      const auto offers = handle_.profile().offers<const DeviceBackedResources>();
      plugin_ = offers.empty() ? nullptr : offers.front();
    }
    return *plugin_;
  }

  Handle& handle_;
  mutable std::optional<const DeviceBackedResources*> plugin_;  // absent: not looked up yet
};

}  // namespace koord::scheduler
