#include "golden/golden.h"

#include <algorithm>

namespace koord::golden {
namespace {

bool sameNumber(const json::value& a, const json::value& b) {
  if (a.is_double() || b.is_double()) return a.to_number<double>() == b.to_number<double>();
  if (a.is_uint64() || b.is_uint64()) {
    json::error_code ec;
    const auto left = a.to_number<std::uint64_t>(ec);
    if (ec) return false;
    const auto right = b.to_number<std::uint64_t>(ec);
    return !ec && left == right;
  }
  return a.get_int64() == b.get_int64();
}

bool sameMembers(const json::object& expected, const json::object& actual) {
  for (const auto& member : expected) {
    const json::value* ours = actual.if_contains(member.key());
    if (ours ? !sameOutput(member.value(), *ours) : !isEmptyOutput(member.value())) return false;
  }
  return std::ranges::all_of(actual, [&](const auto& member) {
    return expected.contains(member.key()) || isEmptyOutput(member.value());
  });
}

}  // namespace

bool isEmptyOutput(const json::value& value) {
  switch (value.kind()) {
    case json::kind::null:
      return true;
    case json::kind::bool_:
      return !value.get_bool();
    case json::kind::string:
      return value.get_string().empty();
    case json::kind::array:
      return value.get_array().empty();
    case json::kind::object:
      return value.get_object().empty();
    default:
      return value.to_number<double>() == 0;
  }
}

bool sameOutput(const json::value& expected, const json::value& actual) {
  if (expected.is_null()) return isEmptyOutput(actual);
  if (actual.is_null()) return isEmptyOutput(expected);
  if (expected.is_number() && actual.is_number()) return sameNumber(expected, actual);
  if (expected.is_object() && actual.is_object()) {
    return sameMembers(expected.get_object(), actual.get_object());
  }
  if (expected.is_array() && actual.is_array()) {
    return std::ranges::equal(expected.get_array(), actual.get_array(), sameOutput);
  }
  return expected == actual;
}

}  // namespace koord::golden
