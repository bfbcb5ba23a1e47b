#pragma once

// DeviceDemand: everything a pod says about the devices that it wants: amounts, which devices, how
// many, how near to each other.

#include <vector>

#include "api/pod.h"
#include "api/selector.h"
#include "scheduler/plugins/deviceshare/devices/request.h"

namespace koord::scheduler {

inline constexpr std::string_view kAnnotationDeviceHint =
    "scheduling.koordinator.sh/device-allocate-hint";
inline constexpr std::string_view kAnnotationDeviceJoint =
    "scheduling.koordinator.sh/device-joint-allocate";
inline constexpr std::string_view kAnnotationPartitionSpec =
    "scheduling.koordinator.sh/gpu-partition-spec";

// What all devices of a pod must have in common; the larger the number, the nearer.
enum class TopologyScope : std::uint8_t { Any, Node, NumaNode, Pcie, Device };

struct DeviceHint {
  enum class Strategy : std::uint8_t { Usual, ApplyForAll, RequestsAsCount };
  enum class Exclusive : std::uint8_t { No, Device, Pcie };
  std::optional<api::Selector> selector;    // of devices
  std::optional<api::Selector> vfSelector;  // a virtual function is wanted, of these groups
  Strategy strategy = Strategy::Usual;
  TopologyScope scope = TopologyScope::Any;
  bool scoped = false;  // a scope is named, known or not
  Exclusive exclusive = Exclusive::No;
};

struct PartitionWish {
  bool honor = false;  // partitions, or nothing
  bool bestOnly = false;
  std::optional<std::int64_t> ringBandwidth;  // at least
};

struct DeviceDemand {
  DeviceRequests requests;
  GpuRequirement gpu;  // when GPUs are requested
  ByDeviceType<std::optional<DeviceHint>> hints;
  // Types that are allocated together, the primary one first; those that are not requested, or all
  // of which are, are left out.
  std::vector<DeviceType> joint;
  bool samePcie = false;
  PartitionWish partition;
  // What the annotations say that means nothing, by field: types, strategies and scopes that nobody knows.
  std::vector<std::string> ignored;

  bool empty() const { return isEmpty(requests); }
  bool wants(DeviceType type) const { return !at(requests, type).empty(); }
  bool hasSelectors() const;
  bool wantsFunction(DeviceType type) const {
    return at(hints, type) && at(hints, type)->vfSelector;
  }
};

// podRequests: all of the pod's. Errors are those that users read; annotations are not looked at
// when no devices are requested.
Result<DeviceDemand> readDeviceDemand(const api::ResourceList& podRequests,
                                      const api::StringMap& annotations);

}  // namespace koord::scheduler
