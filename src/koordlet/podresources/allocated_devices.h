#pragma once

// Adds the devices that koord-scheduler allocated to the answers of kubelet's pod-resources
// service. kubelet knows only the devices of device plugins.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "koordlet/states/pod_view.h"

namespace koord::koordlet {

// Devices of one resource, "nvidia.com/gpu" or "koordinator.sh/rdma", by id.
struct ResourceDevices {
  std::string resource;
  std::vector<std::string> ids;
  bool operator==(const ResourceDevices&) const = default;
};
// The devices in the annotation scheduling.koordinator.sh/device-allocated: bus ids of virtual
// functions, or ids of devices.
std::vector<ResourceDevices> devicesAllocatedTo(const PodView& pod);

// Returns `reply`, a ListPodResourcesResponse or GetPodResourcesResponse, with each pod's devices
// added to its first container, sorted by resource. Keeps unknown fields. Fails if `reply` is not
// such a message.
using DevicesOf = std::function<std::vector<ResourceDevices>(std::string_view podNamespace,
                                                             std::string_view pod)>;
Result<std::string> withAllocatedDevices(std::string_view reply, const DevicesOf& devicesOf);

}  // namespace koord::koordlet
