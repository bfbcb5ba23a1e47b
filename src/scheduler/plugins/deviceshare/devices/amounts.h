#pragma once

// DeviceAmounts: the capacity of a device, its free part, or a pod's request of one device.

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "api/meta.h"
#include "base/json.h"

namespace koord::scheduler {

enum class DeviceType : std::uint8_t { Gpu, Rdma, Fpga };
inline constexpr std::array kDeviceTypes{DeviceType::Gpu, DeviceType::Rdma, DeviceType::Fpga};
template <class T>
using ByDeviceType = std::array<T, kDeviceTypes.size()>;  // use at()

std::string_view nameOf(DeviceType type);  // "gpu"
std::optional<DeviceType> deviceTypeOf(std::string_view name);
using koord::at;  // of base/json.h, which the functions below would hide
template <class T>
T& at(ByDeviceType<T>& all, DeviceType type) {
  return all[static_cast<std::size_t>(type)];
}
template <class T>
const T& at(const ByDeviceType<T>& all, DeviceType type) {
  return all[static_cast<std::size_t>(type)];
}

enum class DeviceResource : std::uint8_t {
  GpuCore,         // percent
  GpuMemory,       // bytes
  GpuMemoryRatio,  // percent
  NpuCore,
  NpuCpu,
  NpuDvpp,
  Rdma,  // percent
  Fpga,  // percent
};
inline constexpr std::size_t kDeviceResources = 8;
std::string_view nameOf(DeviceResource resource);  // "koordinator.sh/gpu-core"
std::optional<DeviceResource> deviceResourceOf(std::string_view name);

// Amounts are not negative. A resource may be present with amount 0.
class DeviceAmounts {
 public:
  // Other names are skipped; negative amounts count as 0.
  static DeviceAmounts of(const api::ResourceList& list);
  api::ResourceList toList() const;

  std::int64_t operator[](DeviceResource resource) const { return values_[index(resource)]; }
  bool has(DeviceResource resource) const { return (named_ >> index(resource) & 1) != 0; }
  void set(DeviceResource resource, std::int64_t value);
  // Returns true if all amounts are 0.
  bool isZero() const;
  // Returns true if no amount of the request is larger.
  bool covers(const DeviceAmounts& request) const;

  void add(const DeviceAmounts& other);
  // Results below 0 become 0.
  void subtract(const DeviceAmounts& other);
  DeviceAmounts minus(const DeviceAmounts& other) const {
    DeviceAmounts rest = *this;
    rest.subtract(other);
    return rest;
  }
  // The smaller amounts; without the resources that only one of them names.
  DeviceAmounts least(const DeviceAmounts& other) const;
  DeviceAmounts times(std::int64_t factor) const;
  bool operator==(const DeviceAmounts&) const = default;

 private:
  static std::size_t index(DeviceResource resource) { return static_cast<std::size_t>(resource); }
  std::array<std::int64_t, kDeviceResources> values_{};
  std::uint8_t named_ = 0;
};

}  // namespace koord::scheduler
