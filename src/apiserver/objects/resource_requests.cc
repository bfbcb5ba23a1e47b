#include "apiserver/objects/resource_requests.h"

#include <fmt/format.h>

#include "api/resource_claims.h"
#include "apiserver/objects/resource_checks.h"

namespace koord::apiserver {
namespace {

constexpr std::size_t kMaxAlternatives = 8;
constexpr std::size_t kMaxConstraints = 32;

void validateMode(const json::value& request, const std::string& path, FieldErrors& errors) {
  const auto mode = textAt(request, "allocationMode");
  const auto count = integerAt(request, 0, "count");
  if (mode == "All") {
    if (count != 0)
      errors.invalid(path + ".count", count, "must not be specified when allocationMode is 'All'");
  } else if (mode == "ExactCount") {
    if (count <= 0) errors.invalid(path + ".count", count, "must be greater than zero");
  } else {
    errors.unsupported(path + ".allocationMode", mode, {"All", "ExactCount"});
  }
}

// What `exactly` and an alternative have in common.
void validateDevicesWanted(const json::value& request, const std::string& path,
                           FieldErrors& errors) {
  if (const auto name = textAt(request, "deviceClassName"); name.empty()) {
    errors.required(path + ".deviceClassName");
  } else {
    checkDnsSubdomainAt(name, path + ".deviceClassName", errors);
  }
  validateDeviceSelectors(request, path, false, errors);
  validateMode(request, path, errors);
  validateDeviceTolerations(request, path, errors);
}

void validateRequest(const json::value& request, const std::string& path, FieldErrors& errors) {
  checkDnsLabelAt(textAt(request, "name"), path + ".name", errors);
  const auto* exactly = find(request, "exactly");
  const auto* alternatives = arrayAt(request, "firstAvailable");
  const bool hasAlternatives = alternatives && !alternatives->empty();
  if (!exactly && !hasAlternatives) {
    errors.required(path, "exactly one of `exactly` or `firstAvailable` is required");
  } else if (exactly && hasAlternatives) {
    errors.invalid(path, nullptr,
                   "exactly one of `exactly` or `firstAvailable` is required, but multiple fields "
                   "are set");
  } else if (exactly) {
    validateDevicesWanted(*exactly, path + ".exactly", errors);
  } else {
    validateSet(
        request, "firstAvailable", path, kMaxAlternatives, errors,
        [&](const json::value& alternative, const std::string& at) {
          checkDnsLabelAt(textAt(alternative, "name"), at + ".name", errors);
          validateDevicesWanted(alternative, at, errors);
        },
        nameMember);
  }
}

void validateConstraint(const json::value& constraint, const RequestNames& known,
                        const std::string& path, FieldErrors& errors) {
  validateRequestReferences(constraint, known, path, errors);
  if (find(constraint, "matchAttribute")) {
    validateFullFieldName(textAt(constraint, "matchAttribute"), path + ".matchAttribute", errors);
  } else if (find(constraint, "distinctAttribute")) {
    validateFullFieldName(textAt(constraint, "distinctAttribute"), path + ".distinctAttribute",
                          errors);
  } else {
    errors.required(path,
                    "exactly one of \"matchAttribute\" or \"distinctAttribute\" is required, but "
                    "multiple fields are set");
  }
}

}  // namespace

RequestNames requestNamesOf(const json::value& claim) {
  RequestNames names;
  const auto* requests = at(claim, "spec", "devices", "requests");
  if (!requests || !requests->is_array()) return names;
  for (const auto& request : requests->get_array()) {
    auto& inner = names[std::string(textAt(request, "name"))];
    if (const auto* alternatives = arrayAt(request, "firstAvailable"))
      for (const auto& alternative : *alternatives) inner.emplace(textAt(alternative, "name"));
  }
  return names;
}

void validateRequestReference(std::string_view name, const RequestNames& known,
                              const std::string& path, FieldErrors& errors) {
  constexpr const char* kForm =
      "must be the name of a request in the claim or the name of a request and a subrequest "
      "separated by '/'";
  const auto slash = name.find('/');
  const auto request = name.substr(0, slash);
  const auto inner = slash == std::string_view::npos ? std::string_view{} : name.substr(slash + 1);
  if (inner.find('/') != std::string_view::npos) {
    errors.invalid(path, name, kForm);
    return;
  }
  checkDnsLabelAt(request, path, errors);
  if (slash != std::string_view::npos) checkDnsLabelAt(inner, path, errors);
  const auto it = known.find(request);
  if (it == known.end() ||
      (slash != std::string_view::npos && !it->second.contains(std::string(inner))))
    errors.invalid(path, name, kForm);
}

void validateRequestReferences(const json::value& owner, const RequestNames& known,
                               const std::string& path, FieldErrors& errors) {
  validateSet(
      owner, "requests", path, api::kMaxDeviceRequests, errors,
      [&](const json::value& name, const std::string& at) {
        validateRequestReference(textOf(name), known, at, errors);
      },
      [](const json::value& name) { return name; });
}

void validateClaimSpec(const json::value& claim, const std::string& path, FieldErrors& errors) {
  const auto known = requestNamesOf(claim);
  const auto& devices = memberOf(memberOf(claim, "spec"), "devices");
  const std::string at = path.empty() ? "spec.devices" : path + ".spec.devices";
  validateSet(
      devices, "requests", at, api::kMaxDeviceRequests, errors,
      [&](const json::value& request, const std::string& place) {
        validateRequest(request, place, errors);
      },
      nameMember);
  validateItems(devices, "constraints", at, kMaxConstraints, errors,
                [&](const json::value& constraint, const std::string& place) {
                  validateConstraint(constraint, known, place, errors);
                });
  validateItems(devices, "config", at, kMaxDeviceConfigs, errors,
                [&](const json::value& config, const std::string& place) {
                  validateRequestReferences(config, known, place, errors);
                  validateDeviceConfiguration(config, place, false, errors);
                });
}

}  // namespace koord::apiserver
