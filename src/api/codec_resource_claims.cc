#include <algorithm>

#include "api/codec_impl.h"
#include "api/describe_devices.h"
#include "api/resource_claims.h"

namespace koord::api {

BOOST_DESCRIBE_STRUCT(DeviceToleration, (), (key, operator_, value, effect, tolerationSeconds))
BOOST_DESCRIBE_STRUCT(CapacityRequirements, (), (requests))
BOOST_DESCRIBE_STRUCT(ExactDeviceRequest, (),
                      (deviceClassName, selectors, allocationMode, count, adminAccess, tolerations,
                       capacity))
BOOST_DESCRIBE_STRUCT(DeviceSubRequest, (),
                      (name, deviceClassName, selectors, allocationMode, count, tolerations,
                       capacity))
BOOST_DESCRIBE_STRUCT(DeviceRequest, (), (name, exactly, firstAvailable))
BOOST_DESCRIBE_STRUCT(DeviceConstraint, (), (requests, matchAttribute, distinctAttribute))
BOOST_DESCRIBE_STRUCT(DeviceClaimConfiguration, (), (requests, opaque))
BOOST_DESCRIBE_STRUCT(DeviceClaim, (), (requests, constraints, config))
BOOST_DESCRIBE_STRUCT(ResourceClaimSpec, (), (devices))
BOOST_DESCRIBE_STRUCT(DeviceRequestAllocationResult, (),
                      (request, driver, pool, device, adminAccess, tolerations, bindingConditions,
                       bindingFailureConditions, shareID, consumedCapacity))
BOOST_DESCRIBE_STRUCT(DeviceAllocationConfiguration, (), (source, requests, opaque))
BOOST_DESCRIBE_STRUCT(DeviceAllocationResult, (), (results, config))
BOOST_DESCRIBE_STRUCT(AllocationResult, (), (devices, nodeSelector, allocationTimestamp))
BOOST_DESCRIBE_STRUCT(ResourceClaimConsumerReference, (), (apiGroup, resource, name, uid))
BOOST_DESCRIBE_STRUCT(AllocatedDeviceStatus, (),
                      (driver, pool, device, shareID, conditions, data, networkData))
BOOST_DESCRIBE_STRUCT(ResourceClaimStatus, (), (allocation, reservedFor, devices))
BOOST_DESCRIBE_STRUCT(ResourceClaim, (), (metadata, spec, status))
BOOST_DESCRIBE_STRUCT(ResourceClaimTemplateSpec, (), (metadata, spec))
BOOST_DESCRIBE_STRUCT(ResourceClaimTemplate, (), (metadata, spec))

bool isReservedFor(const ResourceClaim& claim, std::string_view uid) {
  return std::ranges::any_of(claim.status.reservedFor,
                             [&](const auto& consumer) { return consumer.uid == uid; });
}

PodClaimNames::PodClaimNames(const Pod& pod) : pod_(pod) {
  constexpr std::size_t kMany = 16;
  const auto& statuses = pod.status.resourceClaimStatuses;
  if (statuses.size() <= kMany) return;
  byEntry_.reserve(statuses.size());
  for (const PodResourceClaimStatus& status : statuses) byEntry_.emplace(status.name, &status);
}

const PodResourceClaimStatus* PodClaimNames::statusOf(const PodResourceClaim& entry) const {
  if (!byEntry_.empty()) {
    const auto known = byEntry_.find(entry.name);
    return known == byEntry_.end() ? nullptr : known->second;
  }
  const auto& statuses = pod_.status.resourceClaimStatuses;
  const auto it = std::ranges::find(statuses, entry.name, &PodResourceClaimStatus::name);
  return it == statuses.end() ? nullptr : &*it;
}

const std::string* PodClaimNames::of(const PodResourceClaim& entry) const {
  if (entry.resourceClaimName) return &*entry.resourceClaimName;
  const auto* status = statusOf(entry);
  return status && status->resourceClaimName ? &*status->resourceClaimName : nullptr;
}

bool PodClaimNames::needsNone(const PodResourceClaim& entry) const {
  const auto* status = entry.resourceClaimName ? nullptr : statusOf(entry);
  return status && !status->resourceClaimName;
}

}  // namespace koord::api

KOORD_OBJECT_CODEC(koord::api::ResourceClaim)
KOORD_OBJECT_CODEC(koord::api::ResourceClaimTemplate)
KOORD_CODEC(koord::api::ResourceClaimSpec)
KOORD_CODEC(koord::api::ResourceClaimStatus)
KOORD_CODEC(koord::api::AllocationResult)
KOORD_CODEC(koord::api::DeviceToleration)
