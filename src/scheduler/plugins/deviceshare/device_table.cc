#include "scheduler/plugins/deviceshare/device_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/codec.h"
#include "api/reservation.h"
#include "base/log.h"
#include "model/gpu_isolation.h"
#include "model/well_known.h"
#include "scheduler/plugins/deviceshare/device_object.h"
#include "scheduler/plugins/deviceshare/devices/allocation.h"
#include "scheduler/plugins/deviceshare/pod_devices.h"

namespace koord::scheduler {

namespace {

std::string reservationIn(const api::StringMap& annotations) {
  const std::string* text = api::findIn(annotations, model::kAnnotationReservationAllocated);
  if (!text) return "";
  auto read = api::decodeText<api::ReservationAllocated>(*text, api::Reading::Go);
  return read ? std::move(read->uid) : std::string();
}

bool isReservePodOf(const PodInfo& pod) {
  return pod.kind && api::findIn(pod.pod->metadata.annotations, model::kAnnotationReservePod);
}

std::string shown(const DeviceUse& use) {
  std::string text;
  for (const DeviceType type : kDeviceTypes) {
    for (const auto& [minor, amounts] : use.of(type)) {
      text += fmt::format("{}{} {}:", text.empty() ? "" : " ", nameOf(type), minor);
      for (const auto& [name, amount] : amounts.toList())
        text += fmt::format(" {}={}", name, amount.toString());
    }
  }
  return text.empty() ? "nothing" : text;
}

}  // namespace

DeviceTable& DeviceTable::of(Handle& handle) {
  return handle.shared().of<DeviceTable>([&] { return std::make_unique<DeviceTable>(handle); });
}

DeviceTable::DeviceTable(Handle& handle)
    : cluster_(handle.cluster()),
      objects_(handle.stores().of<api::Device>()),
      shared_(handle.shared().of<SharedDevices>([] { return std::make_unique<SharedDevices>(); })),
      resources_(deviceResources(cluster_.resources())) {
  shared_.listed = this;
  cluster_.addLedger(*this);
  cluster_.addListener(*this);
  objects_.listen([this](const auto& before, const auto& after) {
    const auto node = cluster_.findNode((after ? after : before)->metadata.name);
    if (node && cluster_.node(*node).object) readDevice(*node);
  });
  cluster_.live().forEach([this](NodeId node) { nodeChanged(node); });
}

NodeDevices& DeviceTable::row(NodeId node) {
  if (node >= rows_.size()) rows_.resize(std::max<std::size_t>(cluster_.capacity(), node + 1));
  rows_[node].id = node;
  return rows_[node];
}

const DeviceGrant* DeviceTable::grantOf(const std::string& podUid) const {
  const Cluster::PodRecord* record = cluster_.findPod(podUid);
  return record ? in(record->grants) : nullptr;
}

void DeviceTable::give(const PodInfo& pod, DeviceGrant grant) {
  cluster_.regrant(pod.uid(), id(), LedgerOf::grantOf(std::move(grant)));
}

void DeviceTable::takeBack(const PodInfo& pod) {
  cluster_.regrant(pod.uid(), id(), nullptr);
}

// --- Nodes and their Devices.

void DeviceTable::nodeChanged(NodeId node) {
  NodeDevices& here = row(node);
  const NodeRow& known = cluster_.node(node);
  if (!known.object) {
    // Remaining pods keep their allocations.
    here.name.clear();
    here.managed = !here.use.empty();
    here.inventory = DeviceInventory();
    here.identities = {};
    here.former.clear();
    return;
  }
  const api::StringMap& labels = known.object->metadata.labels;
  here.gpus = NodeGpus::of(labels);
  here.isolationProvider = model::gpuIsolationProvider(labels);
  if (here.name == known.name) return;
  here.name = known.name;
  here.managed = !here.use.empty();
  readDevice(node);
}

// After a Device is deleted, nothing is left to allocate, but pods keep their allocations.
void DeviceTable::readDevice(NodeId node) {
  NodeDevices& here = row(node);
  const auto object = objects_.get({"", cluster_.node(node).name});
  if (!object && !here.managed) return;
  here.managed = true;
  if (sharesDevices()) keepIdentities(here);
  here.identities = {};
  here.inventory = object ? DeviceInventory(object) : DeviceInventory();
  if (object && onDevice_) onDevice_(here.inventory);
  cluster_.touch(node);
}

// --- Pods.

bool DeviceTable::hasNothingToRead(const PodInfo& pod) const {
  return !api::findIn(pod.pod->metadata.annotations, model::kAnnotationDeviceAllocated);
}

std::optional<DeviceGrant> DeviceTable::readValue(const PodInfo& pod, NodeId,
                                                  const DeviceGrant* held) {
  const api::StringMap& annotations = pod.pod->metadata.annotations;
  const std::string* text = api::findIn(annotations, model::kAnnotationDeviceAllocated);
  if (!text) return std::nullopt;
  auto given = parseAllocatedDevices(*text);
  if (!given) {
    // If the annotation was overwritten, the pod still has its allocation.
    log::warn("pod {}: metadata.annotations[{}]: {}; {}", pod.key(),
              model::kAnnotationDeviceAllocated, given.error().message,
              held ? "its last known devices still count" : "it counts as having no devices");
    return held ? std::optional(*held) : std::nullopt;
  }
  if (isEmpty(*given)) return std::nullopt;
  return DeviceGrant{*std::move(given), reservationIn(annotations), isReservePodOf(pod)};
}

template <class Change>
void DeviceTable::changeReserved(NodeDevices& devices, const std::string& reservation,
                                 Change&& change) {
  const auto it = devices.reserved.try_emplace(reservation).first;
  devices.use.remove(it->second.counted());
  change(it->second);
  devices.use.add(it->second.counted());
  if (it->second.empty()) devices.reserved.erase(it);
}

void DeviceTable::count(NodeDevices& devices, const PodInfo& pod, const DeviceGrant& grant,
                        bool add) {
  if (grant.reserves) {
    changeReserved(devices, pod.uid(), [&](ReservedDevices& reserved) {
      reserved.setReserved(add ? &grant.given : nullptr);
    });
  } else if (!grant.reservation.empty()) {
    changeReserved(devices, grant.reservation, [&](ReservedDevices& reserved) {
      add ? reserved.addOwner(pod.uid(), grant.given) : reserved.removeOwner(pod.uid());
    });
  } else if (add) {
    devices.use.add(grant.given);
  } else {
    devices.use.remove(grant.given);
  }
}

void DeviceTable::addValue(NodeId node, const PodInfo& pod, const DeviceGrant& grant) {
  row(node).managed = true;
  count(row(node), pod, grant, true);
}

void DeviceTable::removeValue(NodeId node, const PodInfo& pod, const DeviceGrant& grant) {
  count(row(node), pod, grant, false);
}

bool DeviceTable::forget(NodeId node) {
  row(node).use = DeviceUse();
  row(node).reserved.clear();
  return true;
}

std::string DeviceTable::verifyValues(NodeId node, Held held) const {
  NodeDevices counted;
  for (const auto& [pod, grant] : held) count(counted, *pod, *grant, true);
  const NodeDevices& kept = rowOf(node);
  if (kept.use == counted.use && kept.reserved == counted.reserved) return "";
  return fmt::format("kept {}, counted {}; ", shown(kept.use), shown(counted.use));
}

}  // namespace koord::scheduler
