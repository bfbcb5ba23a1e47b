// Explains why a pod has its devices: their location, and the rule that put them first.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <set>

#include "scheduler/plugins/deviceshare/plugin.h"

namespace koord::scheduler {

namespace {

// "2 on one PCIe switch (a) of NUMA node 0".
std::string placeOf(const DeviceInventory& inventory, DeviceType type,
                    const std::vector<AllocatedDevice>& devices) {
  std::set<std::string> switches;
  std::set<int> numas;
  for (const AllocatedDevice& device : devices) {
    const KnownDevice* known = inventory.find(type, device.minor);
    const auto* topology = known ? known->topology() : nullptr;
    if (!topology) return fmt::format("{} {} with unknown topology", devices.size(), nameOf(type));
    switches.insert(topology->pcieID);
    numas.insert(topology->nodeID);
  }
  return fmt::format("{} {} on PCIe switch{} {} of NUMA node{} {}", devices.size(), nameOf(type),
                     switches.size() == 1 ? "" : "es", fmt::join(switches, ", "),
                     numas.size() == 1 ? "" : "s", fmt::join(numas, ", "));
}

}  // namespace

std::string DeviceShare::ruleFor(const PodDevices& devices, const NodeDevices& node) const {
  const char* const strategy = scoring_.most ? "least (MostAllocated)" : "most (LeastAllocated)";
  if (!devices.demand.wants(DeviceType::Gpu))
    return fmt::format("order: devices with the {} left", strategy);
  if (devices.demand.gpu.shared)
    return fmt::format("order: switches with GPUs in use, then the GPU with the {} left", strategy);
  const bool partitions = node.inventory.partitions() || node.gpus.partitions();
  return fmt::format(
      "order: {}GPUs of one switch, then GPUs of one NUMA node, then GPUs next to GPUs in use",
      partitions ? "partitions that keep the largest ones whole, then " : "");
}

std::string DeviceShare::reasonFor(const PodDevices& devices, const NodeDevices& node,
                                   const AllocatedDevices& given) const {
  std::string text;
  for (const DeviceType type : kDeviceTypes)
    if (!at(given, type).empty())
      text += (text.empty() ? "" : ", ") + placeOf(node.inventory, type, at(given, type));
  return text.empty() ? text : text + "; " + ruleFor(devices, node);
}

// What the pod would get there now, and why; nothing if it does not fit.
void DeviceShare::addOutlook(const PodInfo& pod, NodeId node, json::object& into) const {
  const PodDevices& devices = of(pod, node);
  if (!devices.wanted()) return;
  const NodeDevices& here = *table_.at(node);
  const auto reservations = matched(pod, node);
  const Outcome outcome = allocate(devices, pod, here,
                                   {.reserving = true,
                                    .affinity = affinityOf(pod, node, true),
                                    .reservations = reservations,
                                    .preAllocationNode = node});
  if (!outcome.answer.ok()) return;
  json::object wouldGet;
  for (const DeviceType type : kDeviceTypes) {
    json::array minors;
    for (const AllocatedDevice& device : at(outcome.answer.given, type))
      minors.emplace_back(device.minor);
    if (!minors.empty()) wouldGet[nameOf(type)] = std::move(minors);
  }
  into["wouldGet"] = std::move(wouldGet);
  into["because"] = reasonFor(devices, here, outcome.answer.given);
}

}  // namespace koord::scheduler
