#pragma once

// resource.k8s.io/v1: ResourceClaim and ResourceClaimTemplate, the requests of pods for devices,
// and their allocation. resource_devices.h has the devices themselves.

#include <boost/unordered/unordered_flat_map.hpp>

#include "api/resource_devices.h"

namespace koord::api {

// On an allocated claim: the claim controller or the scheduler removes it with the allocation.
inline constexpr std::string_view kClaimFinalizer = "resource.kubernetes.io/delete-protection";
// On a generated claim: the name of the entry in spec.resourceClaims of its pod.
inline constexpr std::string_view kPodClaimNameAnnotation = "resource.kubernetes.io/pod-claim-name";
// "true" on a claim that the scheduler created for the extended resources of a pod.
inline constexpr std::string_view kExtendedResourceClaimAnnotation =
    "resource.kubernetes.io/extended-resource-claim";
// This prefix and NAME are the extended resource of the class NAME, whatever extendedResourceName
// is.
inline constexpr std::string_view kDeviceClassResourcePrefix =
    "deviceclass.resource.kubernetes.io/";
// The label of namespaces whose claims may have adminAccess, if it is "true".
inline constexpr std::string_view kAdminAccessLabel = "resource.kubernetes.io/admin-access";

// Limits of the API.
inline constexpr std::size_t kMaxDeviceRequests = 32;
inline constexpr std::size_t kMaxAllocationResults = 32;
inline constexpr std::size_t kMaxReservedFor = 256;

struct DeviceToleration {
  std::string key;        // empty with Exists: every key
  std::string operator_;  // Exists, Equal (also when empty)
  std::string value;
  std::string effect;  // empty: every effect
  std::optional<std::int64_t> tolerationSeconds;
  bool operator==(const DeviceToleration&) const = default;
};

struct CapacityRequirements {
  ResourceList requests;  // by capacity name
};

// allocationMode is ExactCount (also when empty) or All; count is 1 when it is 0 with ExactCount.
struct ExactDeviceRequest {
  std::string deviceClassName;
  List<DeviceSelector> selectors;
  std::string allocationMode;
  std::int64_t count = 0;
  bool adminAccess = false;
  List<DeviceToleration> tolerations;
  std::optional<CapacityRequirements> capacity;
};
struct DeviceSubRequest {
  std::string name;
  std::string deviceClassName;
  List<DeviceSelector> selectors;
  std::string allocationMode;
  std::int64_t count = 0;
  List<DeviceToleration> tolerations;
  std::optional<CapacityRequirements> capacity;
};
// Either exactly or firstAvailable, of which the first that can be satisfied is used.
struct DeviceRequest {
  std::string name;
  Boxed<ExactDeviceRequest> exactly;
  List<DeviceSubRequest> firstAvailable;
};

// All devices of the requests (all requests if empty; a subrequest is "request/subrequest") have
// the same, or all different, values of an attribute.
struct DeviceConstraint {
  List<std::string> requests;
  std::string matchAttribute;  // domain/name
  std::string distinctAttribute;
};
struct DeviceClaimConfiguration {
  List<std::string> requests;  // empty: all
  std::optional<OpaqueDeviceConfiguration> opaque;
};
struct DeviceClaim {
  List<DeviceRequest> requests;
  List<DeviceConstraint> constraints;
  List<DeviceClaimConfiguration> config;
};
struct ResourceClaimSpec {
  DeviceClaim devices;
};

struct DeviceRequestAllocationResult {
  std::string request;  // or "request/subrequest"
  std::string driver;
  std::string pool;
  std::string device;
  std::optional<bool> adminAccess;
  List<DeviceToleration> tolerations;
  List<std::string> bindingConditions;
  List<std::string> bindingFailureConditions;
  std::optional<std::string> shareID;  // a UID; of a device that allows multiple allocations
  ResourceList consumedCapacity;
};
struct DeviceAllocationConfiguration {
  std::string source;  // FromClass, FromClaim
  List<std::string> requests;
  std::optional<OpaqueDeviceConfiguration> opaque;
};
struct DeviceAllocationResult {
  List<DeviceRequestAllocationResult> results;
  List<DeviceAllocationConfiguration> config;
};
struct AllocationResult {
  DeviceAllocationResult devices;
  std::optional<NodeSelector> nodeSelector;  // where the devices can be used; absent: everywhere
  Time allocationTimestamp;
};

// A consumer: a pod (apiGroup "", resource "pods") or another object.
struct ResourceClaimConsumerReference {
  std::string apiGroup;
  std::string resource;
  std::string name;
  std::string uid;
  bool operator==(const ResourceClaimConsumerReference&) const = default;
};
// What the driver says about an allocated device.
struct AllocatedDeviceStatus {
  std::string driver;
  std::string pool;
  std::string device;
  std::optional<std::string> shareID;
  List<Condition> conditions;
  json::value data;
  json::value networkData;
};
struct ResourceClaimStatus {
  Boxed<AllocationResult> allocation;
  List<ResourceClaimConsumerReference> reservedFor;
  List<AllocatedDeviceStatus> devices;
};

struct ResourceClaim {
  static constexpr ResourceType kType{"resource.k8s.io", "v1", "resourceclaims", "ResourceClaim",
                                      true};
  ObjectMeta metadata;
  ResourceClaimSpec spec;
  ResourceClaimStatus status;
};

struct ResourceClaimTemplateSpec {
  ObjectMeta metadata;  // labels and annotations of the claims
  ResourceClaimSpec spec;
};
struct ResourceClaimTemplate {
  static constexpr ResourceType kType{"resource.k8s.io", "v1", "resourceclaimtemplates",
                                      "ResourceClaimTemplate", true};
  ObjectMeta metadata;
  ResourceClaimTemplateSpec spec;
};

// True if the claim is reserved for the object with this UID.
bool isReservedFor(const ResourceClaim& claim, std::string_view uid);

// The claims that the entries of pod.spec.resourceClaims stand for. A pod may have thousands of
// entries, so that their statuses are indexed. The pod outlives it.
class PodClaimNames {
 public:
  explicit PodClaimNames(const Pod& pod);
  // The name of the claim that the entry names, or that was generated for the entry.
  // nullptr if the claim has not been generated yet, or if the pod does not need one
  // (status.resourceClaimStatuses has the entry without a name).
  const std::string* of(const PodResourceClaim& entry) const;
  // True if the claim controller decided that the entry needs no claim.
  bool needsNone(const PodResourceClaim& entry) const;

 private:
  const PodResourceClaimStatus* statusOf(const PodResourceClaim& entry) const;

  const Pod& pod_;
  boost::unordered_flat_map<std::string_view, const PodResourceClaimStatus*> byEntry_;  // if many
};

}  // namespace koord::api
