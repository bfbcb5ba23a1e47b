#include "manager/noderesource/device_resources.h"

#include <algorithm>
#include <array>

#include "manager/common/names.h"
#include "manager/noderesource/extended_resources.h"
#include "model/resources.h"
#include "model/well_known.h"

namespace koord::manager {

namespace {

constexpr std::array kGpuNames{
    model::kGpu,     model::kGpuCore,   model::kNpuCore,        model::kNpuCpu,
    model::kNpuDvpp, model::kGpuMemory, model::kGpuMemoryRatio, model::kGpuShared};
constexpr std::array kGpuLabels{kLabelGpuVendor, kLabelGpuModel, kLabelGpuDriverVersion};
constexpr std::array kRdmaNames{kRdma};
constexpr std::int64_t kWholeDevice = 100;
constexpr std::string_view kNone = "no healthy device";

std::vector<const api::DeviceInfo*> healthyOf(const api::Device* device, std::string_view type) {
  std::vector<const api::DeviceInfo*> healthy;
  if (device)
    for (const auto& info : device->spec.devices)
      if (info.type == type && info.health) healthy.push_back(&info);
  return healthy;
}

std::string labelOf(const api::ObjectMeta& meta, std::string_view key) {
  const auto* text = api::findIn(meta.labels, key);
  return text ? *text : std::string();
}

}  // namespace

Result<std::vector<ResourceItem>> GpuDeviceResource::calculate(const NodeView& view) const {
  if (!view.devicesKnown) return std::vector<ResourceItem>();
  const auto gpus = healthyOf(view.device, "gpu");
  if (gpus.empty()) return resetItems(kGpuNames, kNone);
  api::ResourceList sum;
  for (const auto* gpu : gpus) model::addTo(sum, gpu->resources);
  const std::string vendor = labelOf(view.device->metadata, kLabelGpuVendor);
  if (vendor.empty() || vendor == "nvidia")
    sum[std::string(model::kGpu)] = model::amountOf(sum, model::kGpuCore);
  if (shareCount_)
    sum[std::string(model::kGpuShared)] =
        Quantity::of(kWholeDevice * static_cast<std::int64_t>(gpus.size()));
  std::vector<ResourceItem> items;
  for (const auto name : kGpuNames)
    if (model::has(sum, name))
      items.push_back({std::string(name), model::amountOf(sum, name), false, "from Device"});
  ResourceItem labels{std::string(this->name()), {}, false, "labels from Device"};
  for (const auto key : kGpuLabels)
    if (const auto* value = api::findIn(view.device->metadata.labels, key))
      labels.labels[std::string(key)] = *value;
  if (!labels.labels.empty()) items.push_back(std::move(labels));
  return items;
}

Result<> GpuDeviceResource::prepare(const ResourceTable& table, api::Node& copy) const {
  writeExtendedResources(table, kGpuNames, copy);
  if (const auto item = table.find(name()); item != table.end())
    for (const auto& [key, value] : item->second.labels) copy.metadata.labels[key] = value;
  return {};
}

bool GpuDeviceResource::needsWrite(const model::ColocationStrategy& strategy,
                                   const api::Node& before, const api::Node& after) const {
  return std::ranges::any_of(kGpuLabels,
                             [&](std::string_view key) {
                               return labelOf(before.metadata, key) != labelOf(after.metadata, key);
                             }) ||
         extendedResourcesDiffer(kGpuNames, strategy.resourceDiffThreshold.value_or(0.1), before,
                                 after);
}

Result<std::vector<ResourceItem>> RdmaDeviceResource::calculate(const NodeView& view) const {
  if (!view.devicesKnown) return std::vector<ResourceItem>();
  const auto cards = healthyOf(view.device, "rdma");
  if (cards.empty()) return resetItems(kRdmaNames, kNone);
  return std::vector<ResourceItem>{
      {std::string(kRdma), Quantity::of(kWholeDevice * static_cast<std::int64_t>(cards.size())),
       false, "from Device"}};
}

Result<> RdmaDeviceResource::prepare(const ResourceTable& table, api::Node& copy) const {
  writeExtendedResources(table, kRdmaNames, copy);
  return {};
}

bool RdmaDeviceResource::needsWrite(const model::ColocationStrategy& strategy,
                                    const api::Node& before, const api::Node& after) const {
  return extendedResourcesDiffer(kRdmaNames, strategy.resourceDiffThreshold.value_or(0.1), before,
                                 after);
}

}  // namespace koord::manager
