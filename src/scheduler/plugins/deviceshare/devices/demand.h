#pragma once

// DeviceDemand: a pod's request of devices: amounts, which devices, how many, and how close to each
// other.

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

// What all devices of a pod must have in common; a larger value is closer.
enum class TopologyScope : std::uint8_t { Any, Node, NumaNode, Pcie, Device };

struct DeviceHint {
  enum class Strategy : std::uint8_t { Usual, ApplyForAll, RequestsAsCount };
  enum class Exclusive : std::uint8_t { No, Device, Pcie };
  std::optional<api::Selector> selector;    // of devices
  std::optional<api::Selector> vfSelector;  // of groups of virtual functions; set if one is needed
  Strategy strategy = Strategy::Usual;
  TopologyScope scope = TopologyScope::Any;
  bool scoped = false;  // a scope is named, whether valid or not
  Exclusive exclusive = Exclusive::No;
};

struct PartitionRequest {
  bool honor = false;  // partitions are required
  bool bestOnly = false;
  std::optional<std::int64_t> ringBandwidth;  // the minimum
};

struct DeviceDemand {
  DeviceRequests requests;
  GpuRequirement gpu;  // if GPUs are requested
  ByDeviceType<std::optional<DeviceHint>> hints;
  // Types that are allocated together, the primary one first; only requested types, without those
  // whose strategy is ApplyForAll.
  std::vector<DeviceType> joint;
  bool samePcie = false;
  PartitionRequest partition;
  // Values in annotations that have no effect, by field: unknown types, strategies and scopes.
  std::vector<std::string> ignored;

  bool empty() const { return isEmpty(requests); }
  bool wants(DeviceType type) const { return !at(requests, type).empty(); }
  bool hasSelectors() const;
  bool wantsFunction(DeviceType type) const {
    return at(hints, type) && at(hints, type)->vfSelector;
  }
};

// podRequests: all requests of the pod. Errors are messages for users. Annotations are not read if
// no devices are requested.
Result<DeviceDemand> readDeviceDemand(const api::ResourceList& podRequests,
                                      const api::StringMap& annotations);

}  // namespace koord::scheduler
