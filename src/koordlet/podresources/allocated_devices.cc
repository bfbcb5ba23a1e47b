#include "koordlet/podresources/allocated_devices.h"

#include <algorithm>

#include "base/log.h"
#include "koordlet/hooks/gpu/device_inject.h"
#include "model/node_names.h"
#include "pod_resources.pb.h"

namespace koord::koordlet {
namespace {

void addDevices(podresources::ContainerResources& container,
                const std::vector<ResourceDevices>& allocated) {
  auto& devices = *container.mutable_devices();
  for (const auto& [resource, ids] : allocated) {
    auto& added = *devices.Add();
    added.set_resource_name(resource);
    for (const auto& id : ids) added.add_device_ids(id);
  }
  std::stable_sort(
      devices.pointer_begin(), devices.pointer_end(),
      [](const auto* a, const auto* b) { return a->resource_name() < b->resource_name(); });
}

}  // namespace

std::vector<ResourceDevices> devicesAllocatedTo(const PodView& pod) {
  std::vector<ResourceDevices> all;
  for (const auto& [type, resource] :
       {std::pair("gpu", model::kNvidiaGpu), {"rdma", model::kRdma}}) {
    const auto devices = allocatedDevices(pod, type);
    if (!devices) {
      log::v(4, "devices of pod {} are not reported: {}", pod.pod->metadata.name,
             devices.error().message);
      return {};
    }
    ResourceDevices ids{std::string(resource), {}};
    for (const auto& device : *devices) {
      if (device.functions.empty()) {
        ids.ids.push_back(device.id);
      } else {
        ids.ids.insert(ids.ids.end(), device.functions.begin(), device.functions.end());
      }
    }
    if (!ids.ids.empty()) all.push_back(std::move(ids));
  }
  return all;
}

Result<std::string> withAllocatedDevices(std::string_view reply, const DevicesOf& devicesOf) {
  podresources::ListPodResourcesResponse response;
  if (!response.ParseFromArray(reply.data(), static_cast<int>(reply.size())))
    return fail(ErrorCode::Invalid, "kubelet's reply is not a message of pod resources");
  bool changed = false;
  for (auto& pod : *response.mutable_pod_resources()) {
    if (pod.containers().empty()) continue;
    const auto allocated = devicesOf(pod.namespace_(), pod.name());
    if (allocated.empty()) continue;
    addDevices(*pod.mutable_containers(0), allocated);
    changed = true;
  }
  return changed ? response.SerializeAsString() : std::string(reply);
}

}  // namespace koord::koordlet
