#include "simulation/features/plain_devices.h"

#include <algorithm>

#include "base/json.h"
#include "model/pod_requests.h"
#include "model/well_known.h"
#include "scheduler/plugins/deviceshare/device_object.h"
#include "scheduler/plugins/deviceshare/device_table.h"
#include "scheduler/plugins/deviceshare/devices/demand.h"
#include "simulation/features/plain_reservations.h"

namespace koord::simulation {

using scheduler::DeviceTable;
using scheduler::testing::amountIn;

namespace {

constexpr const char* kCore = "koordinator.sh/gpu-core";
constexpr const char* kRatio = "koordinator.sh/gpu-memory-ratio";
constexpr const char* kRdma = "koordinator.sh/rdma";

PlainDeviceWish::Part percent(const char* type, std::int64_t amount,
                              std::initializer_list<const char*> names) {
  PlainDeviceWish::Part part{type, static_cast<int>(std::max<std::int64_t>(amount / 100, 1)), {}};
  for (const char* name : names) part.each[name] = amount / part.count;
  return part;
}

}  // namespace

PlainDeviceGrant PlainDeviceGrant::of(const api::StringMap& annotations) {
  PlainDeviceGrant grant;
  const auto* text = api::findIn(annotations, model::kAnnotationDeviceAllocated);
  const json::value document = text ? parseJson(*text).value_or(json::value()) : json::value();
  if (!document.is_object()) return grant;
  for (const auto& [type, list] : document.get_object()) {
    for (const json::value& one : list.as_array()) {
      const DeviceKey key{std::string(type), static_cast<int>(at(one, "minor")->to_number<int>())};
      for (const auto& [name, amount] : at(one, "resources")->as_object())
        grant.parts[key][std::string(name)] = Quantity::parse(amount.as_string())->value();
      const json::value* functions = at(one, "extension", "vfs");
      if (!functions || !functions->is_array()) continue;
      for (const json::value& function : functions->get_array())
        grant.functions.emplace(key, textAt(function, "busID"));
    }
  }
  return grant;
}

PlainDeviceGrant PlainDeviceGrant::of(const scheduler::AllocatedDevices& given) {
  PlainDeviceGrant plain;
  for (const scheduler::DeviceType type : scheduler::kDeviceTypes) {
    for (const auto& device : at(given, type)) {
      const DeviceKey key{std::string(nameOf(type)), device.minor};
      for (const auto& [name, amount] : device.amounts.toList())
        plain.parts[key][name] = amount.value();
      for (const auto& function : device.functions) plain.functions.emplace(key, function.busId);
    }
  }
  return plain;
}

std::shared_ptr<PlainDevices> PlainDevices::of(scheduler::Handle& handle,
                                               const std::string& without) {
  auto plain = std::make_shared<PlainDevices>();
  for (const auto& [key, device] : handle.stores().of<api::Device>().all())
    plain->devices[key.name] = std::make_shared<const DeviceParts>(partsOf(*device));
  const auto& table = DeviceTable::of(handle);
  handle.cluster().live().forEach([&](scheduler::NodeId node) {
    if (table.rowOf(node).managed) plain->managed.insert(handle.cluster().node(node).name);
  });
  for (const auto& record : handle.cluster().pods())
    if (const auto* grant = table.in(record.grants); grant && record.info->uid() != without)
      plain->held[record.info->uid()] = PlainDeviceGrant::of(grant->given);
  return plain;
}

DeviceParts partsOf(const api::Device& device) {
  DeviceParts parts;
  for (const api::DeviceInfo& info : device.spec.devices) {
    if (!info.health || !info.minor) continue;
    for (const auto& [name, quantity] : info.resources)
      parts[{info.type, *info.minor}][name] = quantity.value();
  }
  return parts;
}

std::set<std::pair<DeviceKey, std::string>> functionsOf(const api::Device& device) {
  std::set<std::pair<DeviceKey, std::string>> functions;
  for (const api::DeviceInfo& info : device.spec.devices)
    for (const auto& group : info.vfGroups)
      for (const auto& function : group.vfs)
        functions.emplace(DeviceKey{info.type, info.minor.value_or(-1)}, function.busID);
  return functions;
}

PlainDeviceWish PlainDeviceWish::of(const api::Pod& pod) {
  PlainDeviceWish wish;
  const auto requests = model::podRequests(pod);
  const auto& annotations = pod.metadata.annotations;
  if (const std::int64_t gpus = amountIn(requests, "nvidia.com/gpu"); gpus > 0)
    wish.parts.push_back(percent("gpu", 100 * gpus, {kCore, kRatio}));
  if (const std::int64_t part = amountIn(requests, "koordinator.sh/gpu"); part > 0)
    wish.parts.push_back(percent("gpu", part, {kCore, kRatio}));
  if (const std::int64_t ratio = amountIn(requests, kRatio); ratio > 0) {
    const std::int64_t shared = amountIn(requests, "koordinator.sh/gpu.shared");
    auto part = percent("gpu", ratio, {kRatio});
    if (shared > 0) part.count = static_cast<int>(shared);
    part.each[kRatio] = ratio / part.count;
    if (requests.contains(kCore)) part.each[kCore] = amountIn(requests, kCore) / part.count;
    wish.parts.push_back(std::move(part));
  }
  if (const std::int64_t share = amountIn(requests, kRdma); share > 0)
    wish.parts.push_back(percent("rdma", share, {kRdma}));
  for (const std::string_view key :
       {scheduler::kAnnotationDeviceHint, scheduler::kAnnotationDeviceJoint})
    wish.simple &= !api::findIn(annotations, key);
  return wish;
}

PlainDevices::Answer PlainDevices::ask(const Model& now, const api::Pod& pod,
                                       const api::Node& node) const {
  const PlainDeviceWish wish = PlainDeviceWish::of(pod);
  if (wish.parts.empty()) return Answer::Fits;
  const std::string& name = node.metadata.name;
  for (const auto& [resource, quantity] : model::podRequests(pod)) {
    const bool device = resource == "nvidia.com/gpu" || resource.starts_with("koordinator.sh/");
    if (device && !node.status.allocatable.contains(resource)) return Answer::Lacks;
  }
  DeviceParts free;
  if (const auto known = devices.find(name); known != devices.end()) free = *known->second;
  bool reserved = false;
  for (const auto& [uid, grant] : held) {
    const auto there = now.pods.find(uid);
    if (there == now.pods.end() || there->second->spec.nodeName != name) continue;
    reserved |= PlainReservations::isReservePod(*there->second);
    for (const auto& [key, amounts] : grant.parts)
      for (const auto& [resource, amount] : amounts)
        if (free.contains(key)) free[key][resource] -= amount;
  }
  if (!managed.contains(name)) return Answer::Fits;  // devices are unknown there
  if (reserved) return Answer::Undecided;
  const bool enough = std::ranges::all_of(wish.parts, [&](const auto& part) {
    return part.count <= std::ranges::count_if(free, [&](const auto& device) {
             return device.first.first == part.type &&
                    std::ranges::all_of(part.each, [&](const auto& each) {
                      const auto left = device.second.find(each.first);
                      return left != device.second.end() && left->second >= each.second;
                    });
           });
  });
  if (!enough) return Answer::Lacks;
  return wish.simple ? Answer::Fits : Answer::Undecided;
}

}  // namespace koord::simulation
