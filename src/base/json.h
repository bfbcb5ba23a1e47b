#pragma once

// JSON documents: Boost.JSON values and a few accessors that do not throw.

#include <boost/json/value.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace koord {

namespace json = boost::json;

// Parses one document; the error names line and column ("line 3 column 14: expected ...").
Result<json::value> parseJson(std::string_view text);
std::string toJson(const json::value& value);
// Indented by two spaces, for users and golden files.
std::string toPrettyJson(const json::value& value);

// nullptr if the value is not an object or lacks the member.
const json::value* find(const json::value& object, std::string_view key);
json::value* find(json::value& object, std::string_view key);
// The same as a reference, for chained reads: null if there is no such member.
const json::value& memberOf(const json::value& object, std::string_view key);
const json::value& memberOf(const json::object& object, std::string_view key);
const json::object& membersOf(const json::value& object);
// Walks members: at(pod, "metadata", "labels", "app").
template <class... Keys>
const json::value* at(const json::value& object, std::string_view key, Keys... rest) {
  const json::value* member = find(object, key);
  if constexpr (sizeof...(rest) == 0) {
    return member;
  } else {
    return member ? at(*member, rest...) : nullptr;
  }
}
// The string at that path, or "" if there is none.
template <class... Keys>
std::string_view textAt(const json::value& object, Keys... keys) {
  const json::value* member = at(object, keys...);
  if (!member || !member->is_string()) return {};
  const json::string& text = member->get_string();
  return {text.data(), text.size()};
}

// Numbers by value, however they are written: 7, 7.0 and 7e0 are whole. nullopt if the value is not
// a number or the type cannot represent it exactly; Boost's own to_number and as_... throw.
std::optional<std::int64_t> wholeNumber(const json::value& value);
// Any number, rounded to the nearest double.
std::optional<double> realNumber(const json::value& value);

}  // namespace koord
