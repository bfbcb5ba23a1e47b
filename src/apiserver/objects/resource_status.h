#pragma once

// The status of a ResourceClaim: the devices that it has, and what drivers report about them.

#include <set>
#include <string>

#include "apiserver/objects/failure.h"

namespace koord::apiserver {

// "driver/pool/device", and "/shareID" if there is one: identifies an allocated device.
std::string deviceIdOf(const json::value& device);
// The ids of the devices in status.allocation.
std::set<std::string> allocatedDevicesOf(const json::value& claim);
// Removes from the new status what drivers reported about devices that the claim has lost. Clients
// that do not know status.devices would leave such entries behind.
void dropDeallocatedDevices(json::value& next, const json::value& old);

// The rules for a status update of a claim.
void validateClaimStatus(const json::value& claim, const json::value& before, FieldErrors& errors);

}  // namespace koord::apiserver
