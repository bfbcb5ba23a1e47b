#include "scheduler/plugins/deviceshare/devices/inventory.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "api/codec.h"
#include "model/node_names.h"
#include "scheduler/plugins/deviceshare/devices/demand_documents.h"

namespace koord::scheduler {

namespace {

constexpr int kNumaNodes = 64;  // that hints can name

Result<GpuPartition> partitionOf(const PartitionDocument& document) {
  GpuPartition partition;
  partition.score = document.allocationScore;
  if (document.ringBusBandwidth) partition.ringBandwidth = document.ringBusBandwidth->value();
  for (const std::int64_t minor : document.minors) {
    if (minor < 0 || minor >= Minors::kMaxCpus || partition.set.contains(static_cast<int>(minor)))
      return fail(ErrorCode::Invalid, fmt::format("minors: {} is invalid or a duplicate", minor));
    partition.minors.push_back(static_cast<int>(minor));
    partition.set.add(static_cast<int>(minor));
  }
  return partition;
}

// Eight GPUs, connected by NVLink as pairs, fours and all.
GpuPartitions eightByNvLink() {
  GpuPartitions table;
  for (const int size : {1, 2, 4, 8}) {
    for (int first = 0; first < 8; first += size) {
      GpuPartition& partition = table[size].emplace_back();
      partition.score = 1;
      for (int minor = first; minor < first + size; ++minor) {
        partition.minors.push_back(minor);
        partition.set.add(minor);
      }
    }
  }
  return table;
}

void addTo(GpuScope& scope, int minor) {
  scope.minors.push_back(minor);
  scope.set.add(minor);
}

}  // namespace

Result<GpuPartitions> parsePartitions(std::string_view annotation) {
  const auto document = parseJson(annotation);
  if (!document) return fail(document.error());
  GpuPartitions table;
  if (document->is_null()) return table;
  if (!document->is_object())
    return fail(ErrorCode::Invalid, "expected an object of partitions by number of GPUs");
  for (const auto& [name, list] : document->get_object()) {
    const std::string key(name);
    int size = 0;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), size);
    if (error != std::errc{} || end != key.data() + key.size())
      return fail(ErrorCode::Invalid, fmt::format("\"{}\" is not a number of GPUs", key));
    if (!list.is_array()) return fail(ErrorCode::Invalid, fmt::format("{}: expected a list", key));
    for (std::size_t i = 0; i < list.get_array().size(); ++i) {
      const std::string path = fmt::format("{}[{}]", key, i);
      const auto read = api::decode<PartitionDocument>(list.get_array()[i]);
      if (!read) return fail(Error(read.error()).within(path));
      auto partition = partitionOf(*read);
      if (!partition) return fail(std::move(partition.error()).within(path));
      if (const auto count = partition->minors.size();
          size < 0 || count != static_cast<std::size_t>(size))
        return fail(ErrorCode::Invalid,
                    fmt::format("{}.minors: {} GPUs, not {}", path, count, size));
      table[size].push_back(*std::move(partition));
    }
  }
  return table;
}

DeviceInventory::DeviceInventory(std::shared_ptr<const api::Device> device)
    : device_(std::move(device)) {
  const api::StringMap& labels = device_->metadata.labels;
  honorsPartitions_ = api::textIn(labels, model::kLabelGpuPartitionPolicy) == "Honor";
  secondaryWellPlanned_ = api::textIn(labels, model::kLabelSecondaryWellPlanned) == "true";
  readDevices();
  readPartitions();
  growTree();
}

void DeviceInventory::readDevices() {
  ByDeviceType<std::map<int, KnownDevice>> found;
  for (std::size_t i = 0; i < device_->spec.devices.size(); ++i) {
    const api::DeviceInfo& info = device_->spec.devices[i];
    const auto type = deviceTypeOf(info.type);
    const auto problem = [&](std::string text) {
      problems_.push_back(fmt::format("spec.devices[{}].{}", i, text));
    };
    if (!type) {
      problem(fmt::format("type: \"{}\" is not known", info.type));
      continue;
    }
    if (!info.minor || *info.minor < 0 || *info.minor >= Minors::kMaxCpus) {
      problem(info.minor ? fmt::format("minor: {} is not a number of a device", *info.minor)
                         : "minor: missing");
      continue;
    }
    for (const auto& [name, amount] : info.resources)
      if (amount.sign() < 0)
        problem(fmt::format("resources[{}]: {} is negative", name, amount.toString()));
    if (info.topology && (info.topology->nodeID < -1 || info.topology->nodeID >= kNumaNodes))
      problem(fmt::format("topology.nodeID: {} is not a NUMA node", info.topology->nodeID));
    KnownDevice known{*info.minor, {}, &info};
    if (info.health) known.total = DeviceAmounts::of(info.resources);
    if (!at(found, *type).insert_or_assign(known.minor, known).second)
      problem(fmt::format("minor: duplicate {}", known.minor));
  }
  for (const DeviceType type : kDeviceTypes)
    for (const auto& [minor, known] : at(found, type)) at(devices_, type).push_back(known);
}

void DeviceInventory::readPartitions() {
  const auto* text = api::findIn(device_->metadata.annotations, model::kAnnotationGpuPartitions);
  if (!text) return;
  auto table = parsePartitions(*text);
  if (table) {
    partitions_ = *std::move(table);
  } else {
    problems_.push_back(fmt::format("metadata.annotations[{}]: {}", model::kAnnotationGpuPartitions,
                                    table.error().message));
  }
}

void DeviceInventory::growTree() {
  const auto& gpus = of(DeviceType::Gpu);
  std::map<int, std::map<std::string, std::vector<int>>> places;
  for (const KnownDevice& gpu : gpus) {
    if (!gpu.topology()) return;
    places[gpu.topology()->nodeID][gpu.topology()->pcieID].push_back(gpu.minor);
  }
  if (gpus.empty()) return;
  GpuScope& root = gpuTree_.emplace();
  for (const KnownDevice& gpu : gpus) addTo(root, gpu.minor);
  for (const auto& [numa, switches] : places) {
    GpuScope& node = root.children.emplace_back();
    node.level = 2;
    for (const auto& [pcie, minors] : switches) {
      GpuScope& below = node.children.emplace_back();
      below.level = 3;
      for (const int minor : minors) {
        addTo(below, minor);
        addTo(node, minor);
      }
    }
    std::ranges::sort(node.minors);
  }
}

const KnownDevice* DeviceInventory::find(DeviceType type, int minor) const {
  const auto& all = of(type);
  const auto it = std::ranges::lower_bound(all, minor, {}, &KnownDevice::minor);
  return it != all.end() && it->minor == minor ? &*it : nullptr;
}

std::vector<int> DeviceInventory::numaIds() const {
  std::set<int> ids;
  for (const auto& devices : devices_)
    for (const KnownDevice& known : devices)
      if (known.topology() && known.topology()->nodeID >= 0) ids.insert(known.topology()->nodeID);
  return {ids.begin(), ids.end()};
}

bool DeviceInventory::hasFunctions(DeviceType type) const {
  return std::ranges::any_of(
      of(type), [](const KnownDevice& known) { return !known.info->vfGroups.empty(); });
}

NodeGpus NodeGpus::of(const api::StringMap& labels) {
  return {std::string(api::textIn(labels, model::kLabelGpuVendor)),
          std::string(api::textIn(labels, model::kLabelGpuModel)),
          api::textIn(labels, model::kLabelGpuPartitionPolicy) == "Honor"};
}

const GpuPartitions* NodeGpus::partitions() const {
  static const GpuPartitions kEight = eightByNvLink();
  const bool nvidia = vendor.empty() || vendor == "nvidia";
  const bool known = model == "H100" || model == "H800" || model == "H20";
  return nvidia && known ? &kEight : nullptr;
}

}  // namespace koord::scheduler
