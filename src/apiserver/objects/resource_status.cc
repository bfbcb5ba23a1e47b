#include "apiserver/objects/resource_status.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/resource_claims.h"
#include "apiserver/objects/formats.h"
#include "apiserver/objects/resource_checks.h"
#include "apiserver/objects/resource_requests.h"

namespace koord::apiserver {
namespace {

constexpr std::size_t kMaxConditions = 8;
constexpr std::size_t kMaxInterfaceName = 256;
constexpr std::size_t kMaxHardwareAddress = 128;
constexpr std::size_t kMaxAddresses = 16;

json::value uidOf(const json::value& consumer) {
  return memberCopy(consumer, "uid");
}
json::value idOf(const json::value& device) {
  return json::value(deviceIdOf(device));
}

void validateConsumer(const json::value& consumer, const std::string& path, FieldErrors& errors) {
  for (const auto* field : {"resource", "name", "uid"})
    if (textAt(consumer, field).empty()) errors.required(path + "." + field);
}

void validateNetworkData(const json::value& data, const std::string& path, FieldErrors& errors) {
  if (textAt(data, "interfaceName").size() > kMaxInterfaceName)
    errors.tooLong(path + ".interfaceName", kMaxInterfaceName);
  if (textAt(data, "hardwareAddress").size() > kMaxHardwareAddress)
    errors.tooLong(path + ".hardwareAddress", kMaxHardwareAddress);
  validateSet(
      data, "ips", path, kMaxAddresses, errors,
      [&](const json::value& address, const std::string& at) {
        if (!hasFormat(textOf(address), "cidr"))
          errors.invalid(at, address,
                         "must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or "
                         "2001:db8::1/64)");
      },
      [](const json::value& address) { return address; });
}

void validateReported(const json::value& device, const std::set<std::string>& allocated,
                      const std::string& path, FieldErrors& errors) {
  validateDriverName(textAt(device, "driver"), path + ".driver", errors);
  validatePoolName(textAt(device, "pool"), path + ".pool", errors);
  checkDnsLabelAt(textAt(device, "device"), path + ".device", errors);
  if (find(device, "shareID")) validateUuid(textAt(device, "shareID"), path + ".shareID", errors);
  if (const auto id = deviceIdOf(device); !allocated.contains(id))
    errors.invalid(path, id.c_str(), "must be an allocated device in the claim");
  validateConditions(device, path, kMaxConditions, errors);
  if (const auto* data = find(device, "data"))
    validateParameters(data, path + ".data", false, kMaxParameterBytes, errors);
  if (const auto* data = find(device, "networkData"))
    validateNetworkData(*data, path + ".networkData", errors);
}

void validateResult(const json::value& result, const RequestNames& requests,
                    const std::string& path, FieldErrors& errors) {
  validateRequestReference(textAt(result, "request"), requests, path + ".request", errors);
  validateDriverName(textAt(result, "driver"), path + ".driver", errors);
  validatePoolName(textAt(result, "pool"), path + ".pool", errors);
  checkDnsLabelAt(textAt(result, "device"), path + ".device", errors);
  validateBindingConditions(result, path, errors);
  if (find(result, "shareID")) validateUuid(textAt(result, "shareID"), path + ".shareID", errors);
}

// A new allocation; a stored one cannot change and may be older than a rule.
void validateAllocation(const json::value& allocation, const RequestNames& requests,
                        FieldErrors& errors) {
  const std::string path = "status.allocation";
  if (const auto* devices = find(allocation, "devices")) {
    validateItems(*devices, "results", path + ".devices", api::kMaxAllocationResults, errors,
                  [&](const json::value& result, const std::string& at) {
                    validateResult(result, requests, at, errors);
                  });
    validateItems(*devices, "config", path + ".devices", 2 * kMaxDeviceConfigs, errors,
                  [&](const json::value& config, const std::string& at) {
                    const auto source = textAt(config, "source");
                    if (source.empty()) {
                      errors.required(at + ".source");
                    } else if (source != "FromClass" && source != "FromClaim") {
                      errors.unsupported(at + ".source", source, {"FromClaim", "FromClass"});
                    }
                    validateRequestReferences(config, requests, at, errors);
                    validateDeviceConfiguration(config, at, false, errors);
                  });
  }
  if (const auto* selector = find(allocation, "nodeSelector"))
    validateNodeSelector(*selector, path + ".nodeSelector", errors);
}

bool hasNewConsumer(const json::value& now, const json::value& before) {
  const auto* list = arrayAt(now, "reservedFor");
  const auto* known = arrayAt(before, "reservedFor");
  return list && std::ranges::any_of(*list, [&](const json::value& consumer) {
           return !known || std::ranges::find(*known, consumer) == known->end();
         });
}

}  // namespace

std::string deviceIdOf(const json::value& device) {
  auto id = fmt::format("{}/{}/{}", textAt(device, "driver"), textAt(device, "pool"),
                        textAt(device, "device"));
  if (const auto share = textAt(device, "shareID"); !share.empty()) id += fmt::format("/{}", share);
  return id;
}

std::set<std::string> allocatedDevicesOf(const json::value& claim) {
  std::set<std::string> out;
  const auto* results = at(claim, "status", "allocation", "devices", "results");
  if (!results || !results->is_array()) return out;
  for (const auto& result : results->get_array()) out.insert(deviceIdOf(result));
  return out;
}

void dropDeallocatedDevices(json::value& next, const json::value& old) {
  auto* status = memberObject(next.get_object(), "status");
  auto* devices = status ? arrayAt(*status, "devices") : nullptr;
  if (!devices) return;
  auto lost = allocatedDevicesOf(old);
  for (const auto& id : allocatedDevicesOf(next)) lost.erase(id);
  if (lost.empty()) return;
  json::array kept;
  for (auto& device : *devices)
    if (!lost.contains(deviceIdOf(device))) kept.push_back(std::move(device));
  if (kept.empty()) {
    eraseMember(*status, "devices");
  } else {
    *devices = std::move(kept);
  }
}

void validateClaimStatus(const json::value& claim, const json::value& before, FieldErrors& errors) {
  const auto& status = memberOf(claim, "status");
  const auto& old = memberOf(before, "status");
  validateSet(
      status, "reservedFor", "status", api::kMaxReservedFor, errors,
      [&](const json::value& consumer, const std::string& at) {
        validateConsumer(consumer, at, errors);
      },
      uidOf);
  const auto allocated = allocatedDevicesOf(claim);
  validateSet(
      status, "devices", "status", std::string::npos, errors,
      [&](const json::value& device, const std::string& at) {
        validateReported(device, allocated, at, errors);
      },
      idOf);
  const auto* allocation = find(status, "allocation");
  const auto* consumers = arrayAt(status, "reservedFor");
  if (consumers && !consumers->empty()) {
    if (!allocation) {
      errors.forbidden("status.reservedFor", "may not be specified when `allocated` is not set");
    } else if (!textAt(claim, "metadata", "deletionTimestamp").empty() &&
               hasNewConsumer(status, old)) {
      errors.forbidden("status.reservedFor",
                       "new entries may not be added while `deallocationRequested` or "
                       "`deletionTimestamp` are set");
    }
  }
  if (!allocation) return;
  if (const auto* known = find(old, "allocation")) {
    if (*known != *allocation)
      errors.invalid("status.allocation", *allocation, "field is immutable");
  } else {
    validateAllocation(*allocation, requestNamesOf(claim), errors);
  }
}

}  // namespace koord::apiserver
