#include "scheduler/plugins/dynamicresources/pod_claims.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/unordered/unordered_flat_set.hpp>

namespace koord::scheduler {

namespace {

const api::AllocatedDeviceStatus* statusOf(const api::ResourceClaim& claim,
                                           const api::DeviceRequestAllocationResult& device) {
  for (const auto& status : claim.status.devices)
    if (status.device == device.device && status.driver == device.driver &&
        status.pool == device.pool)
      return &status;
  return nullptr;
}

const api::Condition* trueCondition(const api::AllocatedDeviceStatus& status,
                                    const std::string& type) {
  for (const auto& condition : status.conditions)
    if (condition.type == type && condition.status == "True") return &condition;
  return nullptr;
}

}  // namespace

ClaimsOfPod claimsOfPod(const api::Pod& pod, const ClaimTable& table) {
  ClaimsOfPod found;
  const std::string& here = pod.metadata.namespace_;
  const api::PodClaimNames names(pod);
  boost::unordered_flat_set<std::string_view> known;  // uids, if there are many
  constexpr std::size_t kMany = 16;
  // Two entries may name the same claim.
  const auto isNew = [&](const api::ResourceClaim& claim) {
    if (pod.spec.resourceClaims.size() > kMany) return known.insert(claim.metadata.uid).second;
    return std::ranges::none_of(found.claims, [&](const ResourceClaimPtr& other) {
      return other->metadata.uid == claim.metadata.uid;
    });
  };
  for (const api::PodResourceClaim& entry : pod.spec.resourceClaims) {
    if (names.needsNone(entry)) continue;
    const std::string* name = names.of(entry);
    if (!name) {
      found.problem =
          entry.resourceClaimTemplateName
              ? fmt::format("pod \"{}/{}\": ResourceClaim not created yet", here, pod.metadata.name)
              : fmt::format(
                    "pod \"{}/{}\", spec.resourceClaim \"{}\": none of the supported "
                    "fields are set",
                    here, pod.metadata.name, entry.name);
      return found;
    }
    ResourceClaimPtr claim = table.get({here, *name});
    if (!claim) {
      found.problem = fmt::format("could not find ResourceClaim \"{}/{}\"", here, *name);
      return found;
    }
    if (claim->metadata.deletionTimestamp) {
      found.problem = fmt::format("resourceclaim \"{}\" is being deleted", *name);
      return found;
    }
    const api::OwnerReference* owner = api::controllerOf(claim->metadata);
    if (!entry.resourceClaimName && (!owner || owner->uid != pod.metadata.uid)) {
      found.problem =
          fmt::format("ResourceClaim {}/{} was not created for Pod {}/{} (Pod is not owner)", here,
                      *name, here, pod.metadata.name);
      return found;
    }
    if (isNew(*claim)) found.claims.push_back(std::move(claim));
  }
  return found;
}

bool mayUse(const api::ResourceClaim& claim, const api::Pod& pod) {
  return claim.status.reservedFor.size() < api::kMaxReservedFor ||
         api::isReservedFor(claim, pod.metadata.uid);
}

BindingReadiness readinessOf(const api::ResourceClaim& claim) {
  BindingReadiness readiness;
  if (!claim.status.allocation) return {false, ""};
  for (const auto& device : std::as_const(*claim.status.allocation).devices.results) {
    if (device.bindingConditions.empty()) continue;
    const api::AllocatedDeviceStatus* status = statusOf(claim, device);
    if (!status) return {false, ""};
    for (const std::string& type : device.bindingFailureConditions)
      if (const api::Condition* failed = trueCondition(*status, type))
        return {false, fmt::format("device binding failed: claim={}, reason={}, message=\"{}\"",
                                   claim.metadata.name, std::string_view(failed->reason),
                                   std::string_view(failed->message))};
    for (const std::string& type : device.bindingConditions)
      readiness.ready = readiness.ready && trueCondition(*status, type);
    if (!readiness.ready) return readiness;
  }
  return readiness;
}

bool hasBindingConditions(const api::ResourceClaim& claim) {
  return claim.status.allocation &&
         std::ranges::any_of(std::as_const(*claim.status.allocation).devices.results,
                             [](const auto& device) { return !device.bindingConditions.empty(); });
}

bool bindingTimedOut(const api::ResourceClaim& claim, Duration timeout, WallTime now) {
  return hasBindingConditions(claim) && claim.status.allocation->allocationTimestamp &&
         *claim.status.allocation->allocationTimestamp + timeout < now;
}

}  // namespace koord::scheduler
