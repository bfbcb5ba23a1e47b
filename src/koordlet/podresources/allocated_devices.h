#pragma once

// Answers of kubelet's pod-resources service, with the devices that koord-scheduler allocated: kubelet knows only those
// of device plugins.

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
// By the annotation scheduling.koordinator.sh/device-allocated: bus ids of virtual functions, or ids of devices.
std::vector<ResourceDevices> devicesAllocatedTo(const PodView& pod);

// `reply`: a ListPodResourcesResponse or GetPodResourcesResponse. The first container of a pod has its devices added,
// sorted by resource. Fields that koordlet does not know are kept. An error when it is no such message.
using DevicesOf = std::function<std::vector<ResourceDevices>(std::string_view podNamespace,
                                                             std::string_view pod)>;
Result<std::string> withAllocatedDevices(std::string_view reply, const DevicesOf& devicesOf);

}  // namespace koord::koordlet
