// DeviceTable's part of SharedDevices: the identities of a node's devices, and which of the devices
// resource claims have.
//
// A device in use keeps its identity when the Device object does not list it. After a
// restart the identity is in the annotations of the pods, as the id of the device.

#include <algorithm>

#include "model/device_identity.h"
#include "model/well_known.h"
#include "scheduler/plugins/deviceshare/device_table.h"
#include "scheduler/plugins/deviceshare/devices/allocation.h"
#include "scheduler/plugins/deviceshare/pod_devices.h"

namespace koord::scheduler {

namespace {

// A virtual function is a part of its card.
std::vector<std::string> identitiesOf(const api::DeviceInfo& info) {
  std::vector<std::string> identities;
  const auto add = [&](std::string_view text) {
    if (std::string identity = model::deviceIdentity(text); !identity.empty())
      identities.push_back(std::move(identity));
  };
  add(info.id);
  if (info.topology) add(info.topology->busID);
  for (const auto& [name, value] : info.labels)
    if (model::namesHardware(name)) add(value);
  for (const auto& group : info.vfGroups)
    for (const api::VirtualFunction& function : group.vfs) add(function.busID);
  return identities;
}

AllocatedDevices wholeDevices(const NodeDevices& node, const std::vector<DeviceNumber>& numbers) {
  AllocatedDevices whole;
  for (const DeviceNumber number : numbers) {
    const auto [type, minor] = deviceOf(number);
    if (const KnownDevice* known = node.inventory.find(type, minor))
      koord::scheduler::at(whole, type).push_back({minor, known->total, {}, {}});
  }
  return whole;
}

}  // namespace

const DeviceUse& DeviceTable::useOn(const NodeDevices& node, DeviceUse& space) const {
  const std::vector<DeviceNumber> claimed = claimedOn(node);
  if (claimed.empty()) return node.use;
  space = node.use;
  space.add(wholeDevices(node, claimed));
  return space;
}

void DeviceTable::addOwnClaims(const PodInfo& pod, const NodeDevices& node, DeviceUse& use) const {
  if (!mayClaim(pod) || node.id == kNoNode) return;
  std::vector<DeviceNumber> own = shared_.claimed->wouldClaim(pod, node.id);
  if (own.empty()) return;
  const std::vector<DeviceNumber> claimed = claimedOn(node);
  std::erase_if(own,
                [&](DeviceNumber number) { return std::ranges::binary_search(claimed, number); });
  use.add(wholeDevices(node, own));
}

void DeviceTable::keepIdentities(NodeDevices& devices) {
  for (const DeviceType type : kDeviceTypes) {
    for (const auto& [minor, amounts] : devices.use.of(type))
      if (const KnownDevice* known = devices.inventory.find(type, minor))
        devices.former[numberOf(type, minor)] = identitiesOf(*known->info);
  }
}

// Returns true if `former` has changed.
bool DeviceTable::findFormer(NodeDevices& devices) const {
  std::vector<DeviceNumber> unknown;
  for (const DeviceType type : kDeviceTypes) {
    for (const auto& [minor, amounts] : devices.use.of(type)) {
      const DeviceNumber number = numberOf(type, minor);
      if (!devices.inventory.find(type, minor) && !devices.former.contains(number))
        unknown.push_back(number);
    }
  }
  if (unknown.empty()) return false;
  for (const DeviceNumber number : unknown) devices.former[number] = {};
  forEachPod(devices.id, [&](const PodInfo& pod, const DeviceGrant&) {
    const auto* text =
        api::findIn(pod.pod->metadata.annotations, model::kAnnotationDeviceAllocated);
    if (!text) return;
    for (const AllocatedId& given : parseAllocatedIds(*text)) {
      const DeviceNumber number = numberOf(given.type, given.minor);
      if (std::ranges::find(unknown, number) != unknown.end())
        devices.former[number].push_back(model::deviceIdentity(given.id));
    }
  });
  return true;
}

const ListedDevices* DeviceTable::listedOn(NodeId node) {
  if (!at(node)) return nullptr;
  NodeDevices& here = rows_[node];
  if (const bool found = findFormer(here); !found && here.identities.version != 0)
    return &here.identities;
  here.identities = {.version = ++lastVersion_, .identities = {}};
  const auto add = [&](DeviceNumber number, std::vector<std::string> identities) {
    for (std::string& identity : identities)
      here.identities.identities.emplace_back(std::move(identity), number);
  };
  for (const DeviceType type : kDeviceTypes) {
    for (const KnownDevice& known : here.inventory.of(type)) {
      here.former.erase(numberOf(type, known.minor));
      add(numberOf(type, known.minor), identitiesOf(*known.info));
    }
  }
  std::erase_if(here.former, [&](const auto& entry) { return !isAllocated(node, entry.first); });
  for (const auto& [number, identities] : here.former) add(number, identities);
  std::ranges::sort(here.identities.identities);
  return &here.identities;
}

bool DeviceTable::isAllocated(NodeId node, DeviceNumber device) const {
  const auto [type, minor] = deviceOf(device);
  return rowOf(node).use.has(type, minor);
}

bool DeviceTable::mayHaveDevices(const PodInfo& pod) const {
  return requestsAny(pod, resources_) ||
         api::findIn(pod.pod->metadata.annotations, model::kAnnotationDeviceAllocated);
}

}  // namespace koord::scheduler
