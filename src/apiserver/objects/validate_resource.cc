#include "apiserver/objects/validate_resource.h"

#include <fmt/format.h>

#include "api/names.h"
#include "apiserver/objects/resource_checks.h"
#include "apiserver/objects/resource_requests.h"
#include "apiserver/objects/resource_slices.h"
#include "apiserver/objects/resource_status.h"
#include "apiserver/objects/validate_kinds.h"

namespace koord::apiserver {
namespace {

constexpr std::size_t kMaxRuleConditions = 8;

// The spec of claims and templates is immutable, so that its rules are for new objects.
bool isUnchangedSpec(const json::value& object, const json::value& before, FieldErrors& errors) {
  const auto& spec = memberOf(object, "spec");
  if (spec == memberOf(before, "spec")) return true;
  errors.invalid("spec", spec, "field is immutable");
  return false;
}

// As kubelets accept it in a container's requests: of another domain than Kubernetes'.
bool isExtendedResource(std::string_view name) {
  return name.find('/') != std::string_view::npos &&
         name.find("kubernetes.io/") == std::string_view::npos && !name.starts_with("requests.") &&
         api::checkQualifiedName(fmt::format("requests.{}", name)).empty();
}

void validateClass(const json::value& object, const json::value* before, FieldErrors& errors) {
  const auto& spec = memberOf(object, "spec");
  const auto same = [&](const char* field) {
    return before && memberOf(memberOf(*before, "spec"), field) == memberOf(spec, field);
  };
  validateDeviceSelectors(spec, "spec", same("selectors"), errors);
  validateItems(spec, "config", "spec", kMaxDeviceConfigs, errors,
                [&](const json::value& config, const std::string& at) {
                  validateDeviceConfiguration(config, at, same("config"), errors);
                });
  if (find(spec, "extendedResourceName"))
    if (const auto name = textAt(spec, "extendedResourceName"); !isExtendedResource(name))
      errors.invalid("spec.extendedResourceName", name, "must be a valid extended resource name");
}

void validateTaintRule(const json::value& object, const json::value* before, FieldErrors& errors) {
  const auto& spec = memberOf(object, "spec");
  if (const auto* selector = find(spec, "deviceSelector")) {
    const std::string path = "spec.deviceSelector";
    if (find(*selector, "driver"))
      validateDriverName(textAt(*selector, "driver"), path + ".driver", errors);
    if (find(*selector, "pool"))
      validatePoolName(textAt(*selector, "pool"), path + ".pool", errors);
    if (find(*selector, "device"))
      checkDnsLabelAt(textAt(*selector, "device"), path + ".device", errors);
  }
  validateDeviceTaint(memberOf(spec, "taint"), before ? at(*before, "spec", "taint") : nullptr,
                      "spec.taint", errors);
}

void validateTemplate(const json::value& object, const json::value* before, FieldErrors& errors) {
  const auto& spec = memberOf(object, "spec");
  validateLabels(at(spec, "metadata", "labels"), "spec.metadata.labels", errors);
  validateClaimSpec(spec, "spec", errors);
  if (before) isUnchangedSpec(object, *before, errors);
}

}  // namespace

void validateResourceKind(const json::value& object, const json::value* before,
                          const Resource& resource, std::string_view subresource,
                          FieldErrors& errors) {
  const bool status = before && subresource == "status";
  if (resource.plural == "resourceclaims") {
    if (status) {
      validateClaimStatus(object, *before, errors);
    } else if (before) {
      isUnchangedSpec(object, *before, errors);
    } else {
      validateClaimSpec(object, "", errors);
    }
  } else if (resource.plural == "resourceclaimtemplates") {
    validateTemplate(object, before, errors);
  } else if (resource.plural == "deviceclasses") {
    validateClass(object, before, errors);
  } else if (resource.plural == "resourceslices") {
    validateSliceSpec(memberOf(object, "spec"), before ? find(*before, "spec") : nullptr, errors);
  } else if (resource.plural == "devicetaintrules") {
    if (status) {
      validateConditions(memberOf(object, "status"), "status", kMaxRuleConditions, errors);
    } else {
      validateTaintRule(object, before, errors);
    }
  }
}

std::optional<std::size_t> adminRequestOf(const json::value& object, const Resource& resource) {
  const auto& spec = memberOf(object, "spec");
  const auto& claim = resource.plural == "resourceclaimtemplates" ? memberOf(spec, "spec") : spec;
  const auto* requests = at(claim, "devices", "requests");
  if (!requests || !requests->is_array()) return std::nullopt;
  for (std::size_t i = 0; i < requests->get_array().size(); ++i)
    if (flagAt(requests->get_array()[i], "exactly", "adminAccess")) return i;
  return std::nullopt;
}

}  // namespace koord::apiserver
