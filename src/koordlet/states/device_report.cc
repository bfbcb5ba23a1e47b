#include "koordlet/states/device_report.h"

#include <algorithm>
#include <cctype>

#include "api/codec.h"
#include "model/node_names.h"
#include "model/well_known.h"

namespace koord::koordlet {
namespace {

constexpr std::string_view kGpuType = "gpu";
constexpr std::string_view kRdmaType = "rdma";
constexpr std::string_view kHealthy = "Healthy";

// Converts to a valid label value: "Tesla V100-SXM2-32GB" -> "Tesla-V100-SXM2-32GB".
std::string labelValue(std::string_view text) {
  std::string label(text.substr(0, 63));
  for (char& c : label)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '.' && c != '_') c = '-';
  const auto isEnd = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  while (!label.empty() && !isEnd(label.back())) label.pop_back();
  label.erase(label.begin(), std::ranges::find_if(label, isEnd));
  return label;
}

// "NVIDIA H200" -> "H200"
std::string modelLabel(std::string_view model) {
  if (model.starts_with("NVIDIA ")) model.remove_prefix(7);
  return labelValue(model);
}

api::DeviceTopology topologyOf(const PciPlace& place, const std::string& busId) {
  return {-1, place.numaNode, place.rootComplex, busId};
}

const api::DeviceInfo* find(const api::Device* object, std::string_view type, std::string_view id) {
  if (!object) return nullptr;
  for (const auto& device : object->spec.devices)
    if (device.type == type && device.id == id) return &device;
  return nullptr;
}

void makeIll(api::DeviceInfo& device, const api::DeviceInfo* before, const GpuFault& fault,
             WallTime now) {
  device.health = false;
  api::Condition condition{std::string(kHealthy), "False", 0, {}, fault.reason, fault.message};
  condition.lastTransitionTime = now;
  if (before)
    for (const auto& known : before->conditions)
      if (known.type == condition.type && known.status == condition.status)
        condition.lastTransitionTime = known.lastTransitionTime;
  device.conditions = {condition};
}

api::DeviceInfo gpuOf(const Gpu& gpu, const DeviceInventory& inventory, const api::Device* existing,
                      WallTime now) {
  api::DeviceInfo device;
  device.type = kGpuType;
  device.id = gpu.identity.uuid;
  device.minor = gpu.identity.minor;
  device.health = true;
  device.resources[model::kGpuCore] = Quantity::of(100);
  device.resources[model::kGpuMemory] =
      Quantity::of(static_cast<std::int64_t>(gpu.memoryTotal), Quantity::Format::BinarySI);
  device.resources[model::kGpuMemoryRatio] = Quantity::of(100);
  const auto place = inventory.places.find(gpu.identity.busId);
  if (place != inventory.places.end() && !place->second.rootComplex.empty())
    device.topology = topologyOf(place->second, gpu.identity.busId);
  if (gpu.fault) makeIll(device, find(existing, kGpuType, device.id), *gpu.fault, now);
  return device;
}

api::DeviceInfo rdmaOf(const RdmaCard& card) {
  api::DeviceInfo device;
  device.type = kRdmaType;
  device.id = card.busId;
  device.minor = card.minor;
  device.health = card.healthy;
  device.resources[model::kRdma] = Quantity::of(100);
  device.topology = topologyOf(card.place, card.busId);
  if (!card.virtualFunctions.empty()) {
    api::VirtualFunctionGroup group;
    for (const auto& busId : card.virtualFunctions) group.vfs.push_back({-1, busId});
    device.vfGroups.push_back(std::move(group));
  }
  return device;
}

void addGpuLabels(const GpuReading& reading, DeviceReport& report) {
  if (reading.gpus.empty()) return;
  report.labels[std::string(model::kLabelGpuVendor)] = "nvidia";
  report.labels[std::string(model::kLabelGpuDriverVersion)] = reading.driverVersion;
  std::string label = modelLabel(reading.gpus.front().identity.model);
  for (const auto& gpu : reading.gpus)
    if (modelLabel(gpu.identity.model) != label) label.clear();
  auto& wanted = report.labels[std::string(model::kLabelGpuModel)];
  if (!label.empty()) wanted = std::move(label);
}

void addXpus(const XpuInventory& xpus, const api::Device* existing, DeviceReport& report) {
  for (api::DeviceInfo device : xpus.devices) {
    const auto* before = find(existing, kGpuType, device.id);
    for (auto& condition : device.conditions)
      if (before)
        for (const auto& known : before->conditions)
          if (known.type == condition.type && known.status == condition.status)
            condition.lastTransitionTime = known.lastTransitionTime;
    report.devices.push_back(std::move(device));
  }
  for (const auto& [name, value] : xpus.labels) report.labels[name] = labelValue(value);
  if (xpus.partitions)
    report.annotations[std::string(model::kAnnotationGpuPartitions)] = *xpus.partitions;
}

// Keeps the object's entries of kinds that are not read now.
void keep(const DeviceInventory& inventory, const api::Device& existing, WallTime now,
          DeviceReport& report) {
  for (const auto& device : existing.spec.devices) {
    const bool gpu = device.type == kGpuType;
    if (gpu && !inventory.xpus.devices.empty()) continue;
    if (gpu && inventory.reportsGpus && inventory.gpus) continue;
    if (device.type == kRdmaType && inventory.reportsRdma) continue;
    api::DeviceInfo kept = device;
    if (gpu && inventory.reportsGpus && !inventory.driverProblem.empty())
      makeIll(kept, &device, {"DriverUnavailable", inventory.driverProblem}, now);
    report.devices.push_back(std::move(kept));
  }
}

}  // namespace

std::optional<DeviceReport> deviceReport(const DeviceInventory& inventory,
                                         const api::Device* existing, WallTime now) {
  DeviceReport report;
  if (!inventory.xpus.devices.empty()) {
    addXpus(inventory.xpus, existing, report);
  } else if (inventory.reportsGpus && inventory.gpus) {
    for (const auto& gpu : inventory.gpus->gpus) {
      auto device = gpuOf(gpu, inventory, existing, now);
      if (!inventory.driverProblem.empty())
        makeIll(device, find(existing, kGpuType, device.id),
                {"DriverUnavailable", inventory.driverProblem}, now);
      report.devices.push_back(std::move(device));
    }
    addGpuLabels(*inventory.gpus, report);
  }
  if (inventory.reportsRdma)
    for (const auto& card : inventory.rdmaCards) report.devices.push_back(rdmaOf(card));
  if (existing) keep(inventory, *existing, now, report);
  if (!existing && report.devices.empty()) return std::nullopt;
  std::ranges::stable_sort(report.devices, {}, [](const api::DeviceInfo& device) {
    return std::pair(device.type, device.minor.value_or(0));
  });
  return report;
}

json::array devicesJson(const api::List<api::DeviceInfo>& devices) {
  json::array result;
  for (const auto& device : devices) {
    api::Device holder;
    holder.spec.devices.push_back(device);
    const json::value document = api::encode(holder);
    json::object entry = at(document, "spec", "devices")->get_array()[0].get_object();
    entry["health"] = device.health;
    if (device.topology) {
      auto& topology = entry["topology"].get_object();
      topology["socketID"] = device.topology->socketID;
      topology["nodeID"] = device.topology->nodeID;
      topology["pcieID"] = device.topology->pcieID;
    }
    result.push_back(std::move(entry));
  }
  return result;
}

bool equalsObject(const DeviceReport& report, const api::Device& object) {
  for (const auto& [name, value] : report.labels) {
    const auto* found = api::findIn(object.metadata.labels, name);
    if (value ? !found || *found != *value : found != nullptr) return false;
  }
  for (const auto& [name, document] : report.annotations) {
    const auto* found = api::findIn(object.metadata.annotations, name);
    const auto parsed =
        found ? parseJson(*found) : Result<json::value>(fail(ErrorCode::NotFound, ""));
    if (!parsed || *parsed != document) return false;
  }
  return devicesJson(report.devices) == devicesJson(object.spec.devices);
}

}  // namespace koord::koordlet
