#pragma once

// Checks of values that several kinds of resource.k8s.io have. Each reports the field's path and
// the message of the Kubernetes API.

#include <set>
#include <string>
#include <string_view>

#include "apiserver/objects/edit.h"
#include "apiserver/objects/failure.h"

namespace koord::apiserver {

inline constexpr std::size_t kMaxParameterBytes = 10 << 10;
inline constexpr std::size_t kMaxDeviceSelectors = 32;
inline constexpr std::size_t kMaxDeviceConfigs = 32;

void checkDnsLabelAt(std::string_view name, const std::string& path, FieldErrors& errors);
void checkDnsSubdomainAt(std::string_view name, const std::string& path, FieldErrors& errors);
// A label key: of a taint, a toleration, a condition.
void checkLabelNameAt(std::string_view name, const std::string& path, FieldErrors& errors);
void checkLabelValueAt(std::string_view value, const std::string& path, FieldErrors& errors);
void validateDriverName(std::string_view name, const std::string& path, FieldErrors& errors);
void validatePoolName(std::string_view name, const std::string& path, FieldErrors& errors);
void validateUuid(std::string_view uid, const std::string& path, FieldErrors& errors);
// The name of an attribute or capacity: an identifier, or domain/identifier.
void validateDeviceFieldName(std::string_view name, const std::string& path, FieldErrors& errors);
// As above, with a domain.
void validateFullFieldName(std::string_view name, const std::string& path, FieldErrors& errors);

// owner.selectors, owner.opaque, and the parameters in the latter. `stored`: known since before, so
// that only rules that all stored objects follow are checked.
void validateDeviceSelectors(const json::value& owner, const std::string& path, bool stored,
                             FieldErrors& errors);
void validateDeviceConfiguration(const json::value& owner, const std::string& path, bool stored,
                                 FieldErrors& errors);
// A JSON object of limited size; nullptr if the field is missing.
void validateParameters(const json::value* parameters, const std::string& path, bool stored,
                        std::size_t limit, FieldErrors& errors);

// `before` is null for a new taint.
void validateDeviceTaint(const json::value& taint, const json::value* before,
                         const std::string& path, FieldErrors& errors);
// owner.tolerations
void validateDeviceTolerations(const json::value& owner, const std::string& path,
                               FieldErrors& errors);
// owner.bindingConditions and owner.bindingFailureConditions
void validateBindingConditions(const json::value& owner, const std::string& path,
                               FieldErrors& errors);
void validateNodeSelector(const json::value& selector, const std::string& path,
                          FieldErrors& errors);
// owner.conditions, of meta/v1.
void validateConditions(const json::value& owner, const std::string& path, std::size_t limit,
                        FieldErrors& errors);

// Calls check(item, path) for each element of a list, if there is one. A list with more than
// `limit` elements is an error, and its elements are not checked.
template <class Check>
void validateItems(const json::value& owner, const char* list, const std::string& path,
                   std::size_t limit, FieldErrors& errors, Check check) {
  const auto* items = arrayAt(owner, list);
  if (!items) return;
  const std::string at = path.empty() ? list : path + "." + list;
  if (items->size() > limit) {
    errors.tooMany(at, items->size(), limit);
    return;
  }
  for (std::size_t i = 0; i < items->size(); ++i)
    check((*items)[i], at + "[" + std::to_string(i) + "]");
}

// As above; also reports elements whose key(item), a JSON value, an earlier element has.
template <class Check, class Key>
void validateSet(const json::value& owner, const char* list, const std::string& path,
                 std::size_t limit, FieldErrors& errors, Check check, Key key) {
  std::set<std::string> seen;
  FieldErrors duplicates;
  validateItems(owner, list, path, limit, errors,
                [&](const json::value& item, const std::string& at) {
                  check(item, at);
                  const json::value name = key(item);
                  if (!seen.insert(toJson(name)).second) duplicates.duplicate(at, name);
                });
  errors.append(std::move(duplicates));
}

// A string, or "".
inline std::string_view textOf(const json::value& value) {
  return value.is_string() ? std::string_view(value.get_string()) : std::string_view{};
}

// The member, or null.
inline json::value memberCopy(const json::value& item, const char* name) {
  const auto* member = find(item, name);
  return member ? *member : json::value();
}

// The key of lists whose elements have a name.
inline json::value nameMember(const json::value& item) {
  return memberCopy(item, "name");
}

}  // namespace koord::apiserver
