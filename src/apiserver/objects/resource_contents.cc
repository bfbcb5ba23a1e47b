#include <fmt/format.h>
#include <re2/re2.h>

#include <set>

#include "api/quantity_json.h"
#include "api/resource_devices.h"
#include "apiserver/objects/resource_checks.h"
#include "apiserver/objects/resource_slices.h"
#include "base/quantity.h"

namespace koord::apiserver {
namespace {

constexpr std::size_t kMaxOptions = 10;
constexpr const char* kValueLists[] = {"bools", "ints", "strings", "versions"};

// semver.org, version 2.0.0.
bool isVersion(std::string_view text) {
  static const re2::RE2 pattern(
      R"((0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*))"
      R"((-(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)(\.(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*)?)"
      R"((\+[0-9a-zA-Z-]+(\.[0-9a-zA-Z-]+)*)?)");
  return re2::RE2::FullMatch(text, pattern);
}

void validateText(const json::value& value, bool version, const std::string& path,
                  FieldErrors& errors) {
  const auto text = textOf(value);
  if (version && !isVersion(text))
    errors.invalid(path, text, "must be a string compatible with semver.org spec 2.0.0");
  if (text.size() > api::kMaxAttributeText) errors.tooLong(path, api::kMaxAttributeText);
}

void validateAttribute(const json::value& attribute, const std::string& path, FieldErrors& errors) {
  int given = 0;
  for (const auto* field : {"bool", "int"}) given += find(attribute, field) != nullptr;
  for (const auto* field : {"string", "version"})
    if (const auto* value = find(attribute, field)) {
      ++given;
      validateText(*value, std::string_view(field) == "version", fmt::format("{}.{}", path, field),
                   errors);
    }
  for (const auto* field : kValueLists) {
    if (!find(attribute, field)) continue;
    ++given;
    const std::string_view name = field;
    if (name == "strings" || name == "versions")
      validateItems(attribute, field, path, std::string::npos, errors,
                    [&](const json::value& item, const std::string& at) {
                      validateText(item, name == "versions", at, errors);
                    });
  }
  if (given == 0) errors.invalid(path, "", "exactly one value must be specified");
  if (given > 1) errors.invalid(path, attribute, "exactly one value must be specified");
}

// How many values the device's attributes have.
std::size_t valuesOf(const json::object& attributes) {
  std::size_t count = 0;
  for (const auto& attribute : attributes) {
    std::size_t listed = 0;
    for (const auto* field : kValueLists)
      if (const auto* list = arrayAt(attribute.value(), field)) listed += list->size();
    count += listed == 0 ? 1 : listed;
  }
  return count;
}

std::optional<Quantity> quantityAt(const json::value& owner, const char* field) {
  const auto* value = find(owner, field);
  if (!value) return std::nullopt;
  const auto parsed = api::readQuantity(*value);
  return parsed ? std::optional(*parsed) : std::nullopt;
}

void addInvalid(const std::string& path, const Quantity& value, std::string detail,
                FieldErrors& errors) {
  errors.invalid(path, value.toString().c_str(), std::move(detail));
}

void validateOptions(const json::value& policy, const Quantity& fallback, const Quantity& capacity,
                     const std::string& path, FieldErrors& errors) {
  std::vector<Quantity> options;
  for (const auto& option : *arrayAt(policy, "validValues"))
    options.push_back(api::readQuantity(option).value_or(Quantity()));
  for (std::size_t i = 1; i < options.size(); ++i)
    if (options[i - 1] > options[i])
      addInvalid(fmt::format("{}.validValues[{}]", path, i), options[i],
                 "values must be sorted in ascending order", errors);
  bool found = false;
  std::size_t next = 0;
  validateSet(
      policy, "validValues", path, kMaxOptions, errors,
      [&](const json::value&, const std::string& at) {
        const Quantity& option = options[next++];
        if (option > capacity)
          addInvalid(at, option,
                     fmt::format("option is larger than capacity value: {}", capacity.toString()),
                     errors);
        found = found || option == fallback;
      },
      [](const json::value& option) {
        return json::value(api::readQuantity(option).value_or(Quantity()).value());
      });
  if (!found)
    addInvalid(path + ".validValues", fallback,
               "default value is not valid according to the requestPolicy", errors);
}

void validateStep(const Quantity& value, const Quantity& min, const Quantity& step,
                  const std::string& path, FieldErrors& errors) {
  // 64 bits do not hold every distance, and cannot divide the smallest one by -1.
  const __int128 distance = static_cast<__int128>(value.value()) - min.value();
  const std::int64_t size = step.value();
  if (size == 0 ? distance != 0 : distance % size != 0)
    addInvalid(path, value,
               fmt::format("value is not a multiple of a given step ({}) from ({})",
                           step.toString(), min.toString()),
               errors);
}

void validateRange(const json::value& range, const Quantity& fallback, const Quantity& capacity,
                   const std::string& path, FieldErrors& errors) {
  const auto min = quantityAt(range, "min");
  const auto max = quantityAt(range, "max");
  const auto step = quantityAt(range, "step");
  if (!min) {
    errors.required(path + ".min", "required when validRange is defined");
    return;
  }
  const auto over = [&](const std::string& at, const Quantity& value, std::string_view what,
                        const Quantity& limit) {
    addInvalid(at, value, fmt::format("{}: {}", what, limit.toString()), errors);
  };
  if (*min > capacity) over(path + ".min", *min, "min is larger than capacity value", capacity);
  if (fallback < *min) over(path + ".min", fallback, "default is less than min", *min);
  if (max) {
    if (*min > *max) over(path + ".max", *min, "min is larger than max", *max);
    if (*max > capacity) over(path + ".max", *max, "max is larger than capacity value", capacity);
    if (fallback > *max) over(path + ".max", fallback, "default is more than max", *max);
  }
  if (!step) return;
  Quantity first = *min;
  first.add(*step);
  if (first > capacity)
    addInvalid(path + ".step", *step,
               fmt::format("one step {} is larger than capacity value: {}", first.toString(),
                           capacity.toString()),
               errors);
  validateStep(fallback, *min, *step, path + ".step", errors);
  if (max) validateStep(*max, *min, *step, path + ".step", errors);
}

void validateCapacity(const json::value& capacity, bool shared, const std::string& path,
                      FieldErrors& errors) {
  const auto* policy = find(capacity, "requestPolicy");
  if (!policy) return;
  const std::string at = path + ".requestPolicy";
  if (!shared) {
    errors.forbidden(at, "allowMultipleAllocations must be true");
    return;
  }
  const auto* options = arrayAt(*policy, "validValues");
  const auto* range = find(*policy, "validRange");
  const bool hasOptions = options && !options->empty();
  if (hasOptions && range) {
    errors.forbidden(at,
                     "exactly one policy can be specified, cannot specify \"validValues\" and "
                     "\"validRange\" at the same time");
    return;
  }
  if (!hasOptions && !range) return;
  const auto fallback = quantityAt(*policy, "default");
  if (!fallback) {
    errors.required(at + ".default", hasOptions ? "required when validValues is defined"
                                                : "required when validRange is defined");
    return;
  }
  const Quantity value = quantityAt(capacity, "value").value_or(Quantity());
  if (hasOptions) {
    validateOptions(*policy, *fallback, value, at, errors);
  } else {
    validateRange(*range, *fallback, value, at + ".validRange", errors);
  }
}

// In the middle, as kube-apiserver does for keys in paths.
std::string shortened(std::string_view key) {
  constexpr std::size_t kMax = api::kMaxDeviceFieldDomain + 1 + api::kMaxDeviceFieldName;
  if (key.size() <= kMax) return std::string(key);
  constexpr std::size_t kLeft = kMax - 3;
  return fmt::format("{}...{}", key.substr(0, (kLeft + 1) / 2), key.substr(key.size() - kLeft / 2));
}

void validateMappings(const json::object& mappings, const json::object& capacities,
                      const std::string& path, FieldErrors& errors) {
  for (const auto& member : mappings) {
    const std::string_view resource = member.key();
    const auto at = fmt::format("{}[{}]", path, resource);
    if (resource.find('/') != std::string_view::npos &&
        resource.find("kubernetes.io/") == std::string_view::npos)
      errors.invalid(at, resource, "must be a node allocatable resource name");
    if (const auto multiplier = quantityAt(member.value(), "allocationMultiplier");
        multiplier && multiplier->sign() <= 0)
      addInvalid(at + ".allocationMultiplier", *multiplier, "must be positive", errors);
    if (!find(member.value(), "capacityKey")) continue;
    const auto key = textAt(member.value(), "capacityKey");
    if (key.empty()) {
      errors.invalid(at + ".capacityKey", "", "capacityKey must not be an empty string");
    } else if (!capacities.contains(key)) {
      errors.notFound(at + ".capacityKey", key);
    }
  }
}

}  // namespace

void validateDeviceContents(const json::value& device, const std::string& path,
                            FieldErrors& errors) {
  const auto& attributes = membersOf(memberOf(device, "attributes"));
  const auto& capacities = membersOf(memberOf(device, "capacity"));
  if (const auto fields = attributes.size() + capacities.size(); fields > api::kMaxDeviceFields)
    errors.invalid(path, static_cast<std::int64_t>(fields),
                   fmt::format("the total number of attributes and capacities must not exceed {}",
                               api::kMaxDeviceFields));
  if (const auto values = valuesOf(attributes); values > api::kMaxAttributeValues)
    errors.invalid(path, static_cast<std::int64_t>(values),
                   fmt::format("the total number of attribute values must not exceed {}",
                               api::kMaxAttributeValues));
  for (const auto& attribute : attributes) {
    validateDeviceFieldName(attribute.key(), path + ".attributes", errors);
    validateAttribute(attribute.value(),
                      fmt::format("{}.attributes[{}]", path, shortened(attribute.key())), errors);
  }
  const bool shared = flagAt(device, "allowMultipleAllocations");
  for (const auto& capacity : capacities) {
    validateDeviceFieldName(capacity.key(), path + ".capacity", errors);
    validateCapacity(capacity.value(), shared,
                     fmt::format("{}.capacity[{}]", path, shortened(capacity.key())), errors);
  }
  validateMappings(membersOf(memberOf(device, "nodeAllocatableResourceMappings")), capacities,
                   path + ".nodeAllocatableResourceMappings", errors);
}

}  // namespace koord::apiserver
