#pragma once

// Helpers that read and complete JSON objects in place.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/json.h"

namespace koord::apiserver {

// Returns the member as an object; creates it if it is missing or null.
inline json::object& objectAt(json::object& parent, std::string_view name) {
  auto& member = parent[name];
  if (!member.is_object()) member = json::object{};
  return member.get_object();
}

// Sets a member if it is missing or null.
inline void setDefault(json::object& object, std::string_view name, json::value value) {
  auto& member = object[name];
  if (member.is_null()) member = std::move(value);
}

inline bool isMissing(const json::object& object, std::string_view name) {
  const auto* member = object.if_contains(name);
  return !member || member->is_null();
}

inline void eraseMember(json::object& object, std::string_view name) {
  if (const auto it = object.find(name); it != object.end()) object.stable_erase(it);
}

inline json::array* arrayAt(json::object& object, std::string_view name) {
  auto* member = object.if_contains(name);
  return member ? member->if_array() : nullptr;
}
inline const json::array* arrayAt(const json::value& object, std::string_view name) {
  const auto* member = find(object, name);
  return member ? member->if_array() : nullptr;
}
inline json::object* memberObject(json::object& object, std::string_view name) {
  auto* member = object.if_contains(name);
  return member ? member->if_object() : nullptr;
}

// Adds the condition to a status; replaces a condition of the same type.
void setCondition(json::object& status, json::object condition);

template <class... Keys>
std::int64_t integerAt(const json::value& object, std::int64_t fallback, Keys... keys) {
  const auto* member = at(object, keys...);
  return member && member->is_int64() ? member->get_int64() : fallback;
}

template <class... Keys>
bool flagAt(const json::value& object, Keys... keys) {
  const auto* member = at(object, keys...);
  return member && member->is_bool() && member->get_bool();
}

}  // namespace koord::apiserver
