#pragma once

// DeviceBackedResources: offered by the plugin that allocates devices (DynamicResources) to plugins
// that count resources on nodes. A DeviceClass can back an extended resource: on a node without a
// device plugin for it (the allocatable amount is 0), the pod gets devices of that class instead.

#include "scheduler/engine/node_set.h"
#include "scheduler/engine/resources.h"

namespace koord::scheduler {

struct ClusterEvent;
struct PodInfo;

class DeviceBackedResources {
 public:
  virtual ~DeviceBackedResources() = default;
  // Returns true if a class backs the resource. When this changes, the kept answers of all plugins
  // for pods that request extended resources are dropped.
  virtual bool isBacked(ResourceId resource) const = 0;
  struct Devices {
    std::int64_t all = 0;
    std::int64_t used = 0;  // of these
  };
  // The devices of the class that a node without a device plugin for the resource can reach. The
  // resource must be backed.
  virtual Devices devicesOn(ResourceId resource, NodeId node) const = 0;
  // Returns true if the event of a DeviceClass makes it back a resource that the pod requests.
  virtual bool beginsToBack(const ClusterEvent& event, const PodInfo& pod) const = 0;
};

}  // namespace koord::scheduler
