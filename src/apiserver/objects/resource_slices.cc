#include "apiserver/objects/resource_slices.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "api/resource_devices.h"
#include "apiserver/objects/resource_checks.h"

namespace koord::apiserver {
namespace {

constexpr std::size_t kMaxCounterSets = 8;
constexpr std::size_t kMaxConsumptions = 2;

// Where the devices are: adds the names of the fields that are set.
void validatePlace(const json::value& owner, const std::string& path, const char* emptyName,
                   std::vector<std::string>& given, FieldErrors& errors) {
  if (find(owner, "nodeName")) {
    const auto name = textAt(owner, "nodeName");
    if (name.empty()) {
      errors.invalid(path + ".nodeName", name, emptyName);
    } else {
      given.emplace_back("`nodeName`");
      checkDnsSubdomainAt(name, path + ".nodeName", errors);
    }
  }
  if (const auto* selector = find(owner, "nodeSelector")) {
    given.emplace_back("`nodeSelector`");
    validateNodeSelector(*selector, path + ".nodeSelector", errors);
  }
}

void validateTrue(const json::value& owner, const char* field, const std::string& path,
                  std::vector<std::string>& given, FieldErrors& errors) {
  if (!find(owner, field)) return;
  if (flagAt(owner, field)) {
    given.push_back(fmt::format("`{}`", field));
  } else {
    errors.invalid(fmt::format("{}.{}", path, field), json::value(false),
                   "must be either unset or set to true");
  }
}

// `many` is what is said if several of the fields are set.
void validateOnePlace(const std::vector<std::string>& given, const std::string& path,
                      const std::string& wanted, std::string_view many, FieldErrors& errors) {
  if (given.empty()) errors.required(path, wanted);
  if (given.size() > 1)
    errors.invalid(path, fmt::format("{{{}}}", fmt::join(given, ", ")).c_str(),
                   wanted + std::string(many));
}

void validateDevicePlace(const json::value& device, bool perDevice, const std::string& path,
                         FieldErrors& errors) {
  if (!perDevice) {
    if (find(device, "nodeName") || find(device, "nodeSelector") || find(device, "allNodes"))
      errors.invalid(path, nullptr,
                     "`nodeName`, `nodeSelector` and `allNodes` can only be set if "
                     "`perDeviceNodeSelection` is set to true in the ResourceSlice spec");
    return;
  }
  std::vector<std::string> given;
  validatePlace(device, path, "must not be empty", given, errors);
  validateTrue(device, "allNodes", path, given, errors);
  validateOnePlace(given, path,
                   "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when "
                   "`perDeviceNodeSelection` is set to true in the ResourceSlice spec",
                   "", errors);
}

const json::value* sameDevice(const json::value* before, std::string_view name) {
  const auto* devices = before ? arrayAt(*before, "devices") : nullptr;
  if (!devices) return nullptr;
  for (const auto& device : *devices)
    if (textAt(device, "name") == name) return &device;
  return nullptr;
}

void validateDevice(const json::value& device, const json::value* before, bool perDevice,
                    const std::string& path, FieldErrors& errors) {
  checkDnsLabelAt(textAt(device, "name"), path + ".name", errors);
  validateDeviceContents(device, path, errors);
  if (!before || memberOf(*before, "taints") != memberOf(device, "taints"))
    validateItems(device, "taints", path, api::kMaxDeviceTaints, errors,
                  [&](const json::value& taint, const std::string& at) {
                    validateDeviceTaint(taint, nullptr, at, errors);
                  });
  validateSet(
      device, "consumesCounters", path, kMaxConsumptions, errors,
      [&](const json::value& consumption, const std::string& at) {
        const auto set = textAt(consumption, "counterSet");
        if (set.empty()) {
          errors.required(at + ".counterSet");
        } else {
          checkDnsLabelAt(set, at + ".counterSet", errors);
        }
        validateCounters(consumption, at, errors);
      },
      [](const json::value& consumption) { return memberCopy(consumption, "counterSet"); });
  validateDevicePlace(device, perDevice, path, errors);
  validateBindingConditions(device, path, errors);
}

bool isAdvanced(const json::value& device) {
  if (find(device, "taints") || find(device, "consumesCounters")) return true;
  const auto* attributes = find(device, "attributes");
  if (!attributes || !attributes->is_object()) return false;
  for (const auto& attribute : attributes->get_object())
    for (const auto* list : {"ints", "bools", "strings", "versions"})
      if (find(attribute.value(), list)) return true;
  return false;
}

void validatePool(const json::value& spec, FieldErrors& errors) {
  const auto& pool = memberOf(spec, "pool");
  validatePoolName(textAt(pool, "name"), "spec.pool.name", errors);
  if (const auto count = integerAt(pool, 0, "resourceSliceCount"); count <= 0)
    errors.invalid("spec.pool.resourceSliceCount", count, "must be greater than zero");
  if (const auto generation = integerAt(pool, 0, "generation"); generation < 0)
    errors.invalid("spec.pool.generation", generation, "must be greater than or equal to zero");
}

void validateUnchanged(const json::value& now, const json::value& before, const std::string& path,
                       FieldErrors& errors) {
  if (now != before) errors.invalid(path, now, "field is immutable");
}

}  // namespace

void validateCounters(const json::value& owner, const std::string& path, FieldErrors& errors) {
  constexpr std::size_t kMaxCounters = 32;
  const auto* counters = find(owner, "counters");
  const std::string at = path + ".counters";
  if (!counters || !counters->is_object() || counters->get_object().empty()) {
    errors.required(at);
    return;
  }
  if (counters->get_object().size() > kMaxCounters) {
    errors.tooMany(at, counters->get_object().size(), kMaxCounters);
    return;
  }
  for (const auto& counter : counters->get_object()) checkDnsLabelAt(counter.key(), at, errors);
}

void validateSliceSpec(const json::value& spec, const json::value* before, FieldErrors& errors) {
  validateDriverName(textAt(spec, "driver"), "spec.driver", errors);
  validatePool(spec, errors);
  if (before) {
    validateUnchanged(memberOf(memberOf(spec, "pool"), "name"),
                      memberOf(memberOf(*before, "pool"), "name"), "spec.pool.name", errors);
    for (const auto* field : {"driver", "nodeName"})
      validateUnchanged(memberOf(spec, field), memberOf(*before, field),
                        fmt::format("spec.{}", field), errors);
  }
  std::vector<std::string> given;
  validatePlace(spec, "spec", "must be either unset or set to a non-empty string", given, errors);
  if (const auto* selector = find(spec, "nodeSelector"); selector && selector->is_object()) {
    const json::value& terms = memberOf(*selector, "nodeSelectorTerms");
    if (!terms.is_array() || terms.get_array().size() != 1)
      errors.invalid("spec.nodeSelector.nodeSelectorTerms", terms,
                     "must have exactly one node selector term");
  }
  validateTrue(spec, "allNodes", "spec", given, errors);
  validateTrue(spec, "perDeviceNodeSelection", "spec", given, errors);
  validateOnePlace(given, "spec",
                   "exactly one of `nodeName`, `nodeSelector`, `allNodes`, "
                   "`perDeviceNodeSelection` is required",
                   ", but multiple fields are set", errors);
  const auto* devices = arrayAt(spec, "devices");
  if (devices && find(spec, "sharedCounters"))
    errors.invalid("spec", "", "only one of `sharedCounters` or `devices` is allowed");
  const bool advanced = devices && std::ranges::any_of(*devices, isAdvanced);
  const bool perDevice = flagAt(spec, "perDeviceNodeSelection");
  validateSet(
      spec, "devices", "spec", advanced ? api::kMaxAdvancedDevicesOfSlice : api::kMaxDevicesOfSlice,
      errors,
      [&](const json::value& device, const std::string& at) {
        validateDevice(device, sameDevice(before, textAt(device, "name")), perDevice, at, errors);
      },
      nameMember);
  validateSet(
      spec, "sharedCounters", "spec", kMaxCounterSets, errors,
      [&](const json::value& set, const std::string& at) {
        if (const auto name = textAt(set, "name"); name.empty()) {
          errors.required(at + ".name");
        } else {
          checkDnsLabelAt(name, at + ".name", errors);
        }
        validateCounters(set, at, errors);
      },
      nameMember);
}

}  // namespace koord::apiserver
