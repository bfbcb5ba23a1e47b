#include "apiserver/objects/validate_pod_claims.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <set>

#include "apiserver/objects/resource_checks.h"

namespace koord::apiserver {
namespace {

using Names = std::set<std::string, std::less<>>;

Names claimNamesOf(const json::value& spec) {
  Names names;
  if (const auto* claims = arrayAt(spec, "resourceClaims"))
    for (const auto& claim : *claims)
      if (const auto name = textAt(claim, "name"); !name.empty()) names.emplace(name);
  return names;
}

void validateClaim(const json::value& claim, Names& seen, const std::string& path,
                   FieldErrors& errors) {
  const auto name = textAt(claim, "name");
  if (name.empty()) {
    errors.required(path + ".name");
  } else if (seen.contains(name)) {
    errors.duplicate(path + ".name", name);
  } else {
    checkDnsLabelAt(name, path + ".name", errors);
    seen.emplace(name);
  }
  const bool named = find(claim, "resourceClaimName") != nullptr;
  const bool generated = find(claim, "resourceClaimTemplateName") != nullptr;
  if (named && generated)
    errors.invalid(path, claim,
                   "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be "
                   "specified");
  if (!named && !generated)
    errors.invalid(path, claim,
                   "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`");
  for (const auto* field : {"resourceClaimName", "resourceClaimTemplateName"})
    if (find(claim, field))
      checkDnsSubdomainAt(textAt(claim, field), fmt::format("{}.{}", path, field), errors);
}

std::string namesText(const Names& names) {
  return names.empty() ? " which is empty" : fmt::format(": {}", fmt::join(names, ", "));
}

// A container uses a claim as a whole, or some of its requests, each once.
void validateUses(const json::value& resources, const Names& known, const std::string& path,
                  FieldErrors& errors) {
  std::map<std::string, std::set<std::string>, std::less<>> used;  // requests; "" is all
  validateItems(resources, "claims", path, std::string::npos, errors,
                [&](const json::value& use, const std::string& at) {
                  const auto name = textAt(use, "name");
                  const std::string request(textAt(use, "request"));
                  if (name.empty()) {
                    errors.required(at);
                    return;
                  }
                  auto& requests = used[std::string(name)];
                  if (requests.contains("")) {
                    errors.duplicate(at, name);
                  } else {
                    if (!request.empty()) checkDnsLabelAt(request, at + ".request", errors);
                    if (requests.contains(request)) {
                      errors.duplicate(at, fmt::format("{}/{}", name, request).c_str());
                    } else if (request.empty() && !requests.empty()) {
                      errors.duplicate(at, name);
                    }
                    requests.insert(request);
                  }
                  if (!known.contains(name))
                    errors.addText(
                        fmt::format("{}: Not found: {}: must be one of the names in "
                                    "pod.spec.resourceClaims{}",
                                    at, toJson(json::string(name)), namesText(known)));
                });
}

// The containers by name.
std::map<std::string, const json::value*, std::less<>> containersOf(const json::value& pod) {
  std::map<std::string, const json::value*, std::less<>> out;
  for (const auto* list : {"initContainers", "containers"})
    if (const auto* containers = at(pod, "spec", list); containers && containers->is_array())
      for (const auto& container : containers->get_array())
        out[std::string(textAt(container, "name"))] = &container;
  return out;
}

void validateExtended(const json::value& pod, const json::value& status, FieldErrors& errors) {
  const std::string path = "status.extendedResourceClaimStatus";
  const auto* mappings = arrayAt(status, "requestMappings");
  if (!mappings || mappings->empty())
    errors.required(path + ".requestMappings", "at least one request mapping is required");
  const auto containers = containersOf(pod);
  std::set<std::string> seen;
  validateItems(status, "requestMappings", path, std::string::npos, errors,
                [&](const json::value& mapping, const std::string& place) {
                  const auto container = textAt(mapping, "containerName");
                  const auto resource = textAt(mapping, "resourceName");
                  const auto request = textAt(mapping, "requestName");
                  const auto it = containers.find(container);
                  if (it == containers.end()) {
                    errors.invalid(place + ".containerName", container,
                                   "must match the name of an entry in spec.initContainers.name or "
                                   "spec.containers.name");
                  } else if (!at(*it->second, "resources", "requests", resource)) {
                    errors.invalid(place + ".resourceName", resource,
                                   "must match the extended resource name of an entry in "
                                   "spec.initContainers.resources.requests or "
                                   "spec.containers.resources.requests");
                  }
                  checkDnsLabelAt(request, path + ".requestName", errors);
                  if (seen.insert(toJson(mapping)).second) return;
                  for (const auto* field : {"containerName", "resourceName", "requestName"})
                    errors.duplicate(fmt::format("{}.{}", place, field), textAt(mapping, field));
                });
  if (const auto name = textAt(status, "resourceClaimName"); name.empty()) {
    errors.required(path + ".resourceClaimName");
  } else {
    checkDnsSubdomainAt(name, path + ".resourceClaimName", errors);
  }
}

}  // namespace

void validatePodResourceClaims(const json::value& spec, const std::string& path,
                               FieldErrors& errors) {
  Names seen;
  validateItems(spec, "resourceClaims", path, std::string::npos, errors,
                [&](const json::value& claim, const std::string& at) {
                  validateClaim(claim, seen, at, errors);
                });
  const auto known = claimNamesOf(spec);
  for (const auto* list : {"initContainers", "containers"})
    validateItems(spec, list, path, std::string::npos, errors,
                  [&](const json::value& container, const std::string& at) {
                    validateUses(memberOf(container, "resources"), known, at + ".resources",
                                 errors);
                  });
}

void validatePodClaimStatuses(const json::value& pod, FieldErrors& errors) {
  const auto known = claimNamesOf(memberOf(pod, "spec"));
  const auto& status = memberOf(pod, "status");
  Names seen;
  validateItems(status, "resourceClaimStatuses", "status", std::string::npos, errors,
                [&](const json::value& entry, const std::string& at) {
                  const auto name = textAt(entry, "name");
                  if (!known.contains(name))
                    errors.invalid(at + ".name", name,
                                   "must match the name of an entry in `spec.resourceClaims`");
                  if (!seen.emplace(name).second) errors.duplicate(at + ".name", name);
                  if (find(entry, "resourceClaimName"))
                    checkDnsSubdomainAt(textAt(entry, "resourceClaimName"),
                                        at + ".resourceClaimName", errors);
                });
  if (const auto* extended = find(status, "extendedResourceClaimStatus"))
    validateExtended(pod, *extended, errors);
}

}  // namespace koord::apiserver
