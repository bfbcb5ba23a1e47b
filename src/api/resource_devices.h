#pragma once

// What resource.k8s.io/v1 says about devices: DeviceClass, ResourceSlice, DeviceTaintRule. Drivers
// publish the devices of a node in slices; a class names devices by what expressions select
// (resource_claims.h has the requests for devices).

#include "api/boxed.h"
#include "api/pod.h"

namespace koord::api {

// Limits of the API. Those of text are in bytes.
inline constexpr std::size_t kMaxDevicesOfSlice = 128;
// A slice with a taint, a consumed counter or a multi-value attribute has fewer devices.
inline constexpr std::size_t kMaxAdvancedDevicesOfSlice = 64;
inline constexpr std::size_t kMaxDeviceTaints = 16;
inline constexpr std::size_t kMaxDeviceTolerations = 16;
inline constexpr std::size_t kMaxDriverName = 63;
// The parts of the name of an attribute or capacity.
inline constexpr std::size_t kMaxDeviceFieldDomain = 63;
inline constexpr std::size_t kMaxDeviceFieldName = 32;
inline constexpr std::size_t kMaxDeviceFields = 32;     // attributes and capacities together
inline constexpr std::size_t kMaxAttributeValues = 48;  // of all attributes of a device
inline constexpr std::size_t kMaxAttributeText = 64;    // a string or version

struct CELDeviceSelector {
  std::string expression;
  bool operator==(const CELDeviceSelector&) const = default;
};
struct DeviceSelector {
  std::optional<CELDeviceSelector> cel;
  bool operator==(const DeviceSelector&) const = default;
};

// Parameters that only the driver reads.
struct OpaqueDeviceConfiguration {
  std::string driver;
  json::value parameters;
  bool operator==(const OpaqueDeviceConfiguration&) const = default;
};

struct DeviceClassConfiguration {
  std::optional<OpaqueDeviceConfiguration> opaque;
};
struct DeviceClassSpec {
  List<DeviceSelector> selectors;  // a device must match all
  List<DeviceClassConfiguration> config;
  // Pods that request this extended resource get devices of the class.
  std::string extendedResourceName;
};
struct DeviceClass {
  static constexpr ResourceType kType{"resource.k8s.io", "v1", "deviceclasses", "DeviceClass",
                                      false};
  ObjectMeta metadata;
  DeviceClassSpec spec;
};

// A list of slices with the same driver, name and generation is complete if it has
// resourceSliceCount slices. Slices of older generations are out of date.
struct ResourcePool {
  std::string name;
  std::int64_t generation = 0;
  std::int64_t resourceSliceCount = 0;
  bool operator==(const ResourcePool&) const = default;
};

struct Counter {
  Quantity value;
};
// Counters that several devices of a pool consume (partitionable devices).
struct CounterSet {
  std::string name;
  Map<Counter> counters;
};
struct DeviceCounterConsumption {
  std::string counterSet;
  Map<Counter> counters;
};

// Exactly one member is set.
struct DeviceAttribute {
  std::optional<std::int64_t> int_;
  std::optional<bool> bool_;
  std::optional<std::string> string;   // at most 64 bytes
  std::optional<std::string> version;  // semver 2.0.0, at most 64 bytes
  List<std::int64_t> ints;
  List<bool> bools;
  List<std::string> strings;
  List<std::string> versions;
  bool operator==(const DeviceAttribute&) const = default;
};

struct CapacityRequestPolicyRange {
  std::optional<Quantity> min;
  std::optional<Quantity> max;
  std::optional<Quantity> step;
};
// How to round a request for a capacity of a device that several claims share: to a valid value or
// to a step of the range. Requests that do not give the capacity consume the default.
struct CapacityRequestPolicy {
  std::optional<Quantity> default_;
  List<Quantity> validValues;
  std::optional<CapacityRequestPolicyRange> validRange;
};
struct DeviceCapacity {
  Quantity value;
  Boxed<CapacityRequestPolicy> requestPolicy;
};

// How much of a resource that the kubelet counts (cpu, memory, hugepages) an allocation of the
// device takes: the multiplier times the consumed capacity, or times 1 without a key.
struct NodeAllocatableResourceMapping {
  std::optional<std::string> capacityKey;
  std::optional<Quantity> allocationMultiplier;
};

struct DeviceTaint {
  std::string key;
  std::string value;
  std::string effect;  // None, NoSchedule, NoExecute
  Time timeAdded;
  bool operator==(const DeviceTaint&) const = default;
};

// A device of a slice.
struct SliceDevice {
  std::string name;
  Map<DeviceAttribute> attributes;  // by name, or domain/name; without a domain it is the driver's
  Map<DeviceCapacity> capacity;     // named as attributes
  List<DeviceCounterConsumption> consumesCounters;
  // Where the device is, if the slice has perDeviceNodeSelection; as in ResourceSliceSpec.
  Text nodeName;
  Boxed<NodeSelector> nodeSelector;
  bool allNodes = false;
  List<DeviceTaint> taints;
  bool bindsToNode = false;  // the allocation is for the node that the scheduler chose only
  List<std::string> bindingConditions;
  List<std::string> bindingFailureConditions;
  bool allowMultipleAllocations = false;
  Map<NodeAllocatableResourceMapping> nodeAllocatableResourceMappings;  // by resource name
};

struct ResourceSliceSpec {
  std::string driver;
  ResourcePool pool;
  // Exactly one of the next three and perDeviceNodeSelection is set.
  std::string nodeName;
  Boxed<NodeSelector> nodeSelector;
  bool allNodes = false;
  List<SliceDevice> devices;
  bool perDeviceNodeSelection = false;
  List<CounterSet> sharedCounters;
};
struct ResourceSlice {
  static constexpr ResourceType kType{"resource.k8s.io", "v1", "resourceslices", "ResourceSlice",
                                      false};
  ObjectMeta metadata;
  ResourceSliceSpec spec;
};

// Absent members match everything.
struct DeviceTaintSelector {
  std::optional<std::string> driver;
  std::optional<std::string> pool;
  std::optional<std::string> device;
};
struct DeviceTaintRuleSpec {
  std::optional<DeviceTaintSelector> deviceSelector;  // absent: no device
  DeviceTaint taint;
};
struct DeviceTaintRuleStatus {
  List<Condition> conditions;
};
// Adds a taint to devices, as an administrator does. Kubernetes 1.36 serves it as v1beta2.
struct DeviceTaintRule {
  static constexpr ResourceType kType{"resource.k8s.io", "v1beta2", "devicetaintrules",
                                      "DeviceTaintRule", false};
  ObjectMeta metadata;
  DeviceTaintRuleSpec spec;
  DeviceTaintRuleStatus status;
};

}  // namespace koord::api
