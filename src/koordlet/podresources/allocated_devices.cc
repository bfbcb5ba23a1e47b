#include "koordlet/podresources/allocated_devices.h"

#include <algorithm>
#include <optional>

#include "api/protobuf/wire.h"
#include "base/log.h"
#include "koordlet/hooks/gpu/device_inject.h"
#include "model/node_names.h"

// The messages of k8s.io/kubelet/pkg/apis/podresources/v1, as far as they are looked into:
//
//   ListPodResourcesResponse, GetPodResourcesResponse { PodResources pod_resources = 1; }
//   PodResources { string name = 1; string namespace = 2; repeated ContainerResources containers = 3; ... }
//   ContainerResources { string name = 1; repeated ContainerDevices devices = 2; ... }
//   ContainerDevices { string resource_name = 1; repeated string device_ids = 2; ... }
//
// Fields are handed on as they came, so that what a later kubelet adds survives.

namespace koord::koordlet {
namespace {

namespace wire = api::wire;

constexpr std::uint32_t kPodResources = 1;
constexpr std::uint32_t kName = 1, kNamespace = 2, kContainers = 3;
constexpr std::uint32_t kDevices = 2, kResourceName = 1, kDeviceIds = 2;

std::unexpected<Error> unreadable() {
  return fail(ErrorCode::Invalid, "kubelet's answer is no message about pods' resources");
}

bool isText(const wire::Field& field, std::uint32_t number) {
  return field.number == number && field.type == wire::Type::Bytes;
}

// False for a kind of field that these messages do not have.
bool copy(const wire::Field& field, std::string& out) {
  if (field.type == wire::Type::Bytes) {
    wire::putBytes(out, field.number, field.bytes);
  } else if (field.type == wire::Type::Varint) {
    wire::putNumber(out, field.number, field.value);
  } else {
    return false;
  }
  return true;
}

std::optional<std::string> textIn(std::string_view message, std::uint32_t number) {
  wire::Reader reader(message);
  std::string text;
  for (wire::Field field; reader.next(field);)
    if (isText(field, number)) text = field.bytes;
  if (reader.broken()) return std::nullopt;
  return text;
}

std::string messageOf(const ResourceDevices& devices) {
  std::string message;
  wire::putBytes(message, kResourceName, devices.resource);
  for (const auto& id : devices.ids) wire::putBytes(message, kDeviceIds, id);
  return message;
}

Result<std::string> containerWith(std::string_view container,
                                  const std::vector<ResourceDevices>& allocated) {
  std::string result;
  std::vector<std::pair<std::string, std::string>> devices;  // by resource
  wire::Reader reader(container);
  for (wire::Field field; reader.next(field);) {
    if (isText(field, kDevices)) {
      auto resource = textIn(field.bytes, kResourceName);
      if (!resource) return unreadable();
      devices.emplace_back(*std::move(resource), field.bytes);
    } else if (!copy(field, result)) {
      return unreadable();
    }
  }
  if (reader.broken()) return unreadable();
  for (const auto& one : allocated) devices.emplace_back(one.resource, messageOf(one));
  std::ranges::stable_sort(devices, {}, &std::pair<std::string, std::string>::first);
  for (const auto& [resource, message] : devices) wire::putBytes(result, kDevices, message);
  return result;
}

Result<std::string> podWith(std::string_view pod, const DevicesOf& devicesOf) {
  const auto name = textIn(pod, kName), space = textIn(pod, kNamespace);
  if (!name || !space) return unreadable();
  const auto allocated = devicesOf(*space, *name);
  if (allocated.empty()) return std::string(pod);
  std::string result;
  bool first = true;
  wire::Reader reader(pod);
  for (wire::Field field; reader.next(field);) {
    if (isText(field, kContainers) && first) {
      first = false;
      auto container = containerWith(field.bytes, allocated);
      if (!container) return container;
      wire::putBytes(result, kContainers, *container);
    } else if (!copy(field, result)) {
      return unreadable();
    }
  }
  return result;
}

}  // namespace

std::vector<ResourceDevices> devicesAllocatedTo(const PodView& pod) {
  std::vector<ResourceDevices> all;
  for (const auto& [type, resource] :
       {std::pair("gpu", model::kNvidiaGpu), {"rdma", model::kRdma}}) {
    const auto devices = allocatedDevices(pod, type);
    if (!devices) {
      log::v(4, "devices of pod {} not told: {}", pod.pod->metadata.name, devices.error().message);
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
  std::string result;
  wire::Reader reader(reply);
  for (wire::Field field; reader.next(field);) {
    if (isText(field, kPodResources)) {
      auto pod = podWith(field.bytes, devicesOf);
      if (!pod) return pod;
      wire::putBytes(result, kPodResources, *pod);
    } else if (!copy(field, result)) {
      return unreadable();
    }
  }
  if (reader.broken()) return unreadable();
  return result;
}

}  // namespace koord::koordlet
