#include "scheduler/plugins/deviceshare/devices/amounts.h"

#include <algorithm>

#include "model/node_names.h"
#include "model/well_known.h"

namespace koord::scheduler {

namespace {

constexpr ByDeviceType<std::string_view> kTypeNames{"gpu", "rdma", "fpga"};
constexpr std::array<std::string_view, kDeviceResources> kResourceNames{
    model::kGpuCore, model::kGpuMemory, model::kGpuMemoryRatio, model::kNpuCore,
    model::kNpuCpu,  model::kNpuDvpp,   model::kRdma,           model::kFpga};

// The upper limit of sums, far above what a device has.
constexpr std::int64_t kMaxDeviceAmount = std::int64_t{1} << 60;

template <class Enum, class Names>
std::optional<Enum> findName(const Names& names, std::string_view name) {
  const auto it = std::ranges::find(names, name);
  return it == names.end() ? std::nullopt : std::optional(static_cast<Enum>(it - names.begin()));
}

}  // namespace

std::string_view nameOf(DeviceType type) {
  return at(kTypeNames, type);
}
std::optional<DeviceType> deviceTypeOf(std::string_view name) {
  return findName<DeviceType>(kTypeNames, name);
}
std::string_view nameOf(DeviceResource resource) {
  return kResourceNames[static_cast<std::size_t>(resource)];
}
std::optional<DeviceResource> deviceResourceOf(std::string_view name) {
  return findName<DeviceResource>(kResourceNames, name);
}

DeviceAmounts DeviceAmounts::of(const api::ResourceList& list) {
  DeviceAmounts amounts;
  for (const auto& [name, quantity] : list)
    if (const auto resource = deviceResourceOf(name)) amounts.set(*resource, quantity.value());
  return amounts;
}

api::ResourceList DeviceAmounts::toList() const {
  api::ResourceList list;
  for (std::size_t i = 0; i < kDeviceResources; ++i) {
    const auto resource = static_cast<DeviceResource>(i);
    if (!has(resource)) continue;
    const bool bytes = resource == DeviceResource::GpuMemory;
    list[std::string(nameOf(resource))] =
        Quantity::of(values_[i], bytes ? Quantity::Format::BinarySI : Quantity::Format::DecimalSI);
  }
  return list;
}

void DeviceAmounts::set(DeviceResource resource, std::int64_t value) {
  values_[index(resource)] = std::clamp<std::int64_t>(value, 0, kMaxDeviceAmount);
  named_ = static_cast<std::uint8_t>(named_ | 1U << index(resource));
}

bool DeviceAmounts::isZero() const {
  return std::ranges::all_of(values_, [](std::int64_t value) { return value == 0; });
}

bool DeviceAmounts::covers(const DeviceAmounts& request) const {
  for (std::size_t i = 0; i < kDeviceResources; ++i)
    if (request.values_[i] > values_[i]) return false;
  return true;
}

void DeviceAmounts::add(const DeviceAmounts& other) {
  for (std::size_t i = 0; i < kDeviceResources; ++i)
    values_[i] = std::min(values_[i] + other.values_[i], kMaxDeviceAmount);
  named_ |= other.named_;
}

void DeviceAmounts::subtract(const DeviceAmounts& other) {
  for (std::size_t i = 0; i < kDeviceResources; ++i)
    values_[i] = std::max<std::int64_t>(values_[i] - other.values_[i], 0);
  named_ |= other.named_;
}

DeviceAmounts DeviceAmounts::least(const DeviceAmounts& other) const {
  DeviceAmounts amounts;
  for (std::size_t i = 0; i < kDeviceResources; ++i)
    amounts.values_[i] = std::min(values_[i], other.values_[i]);
  amounts.named_ = named_ & other.named_;
  return amounts;
}

DeviceAmounts DeviceAmounts::times(std::int64_t factor) const {
  DeviceAmounts amounts = *this;
  for (std::int64_t& value : amounts.values_)
    if (__builtin_mul_overflow(value, factor, &value)) value = kMaxDeviceAmount;
  return amounts;
}

}  // namespace koord::scheduler
