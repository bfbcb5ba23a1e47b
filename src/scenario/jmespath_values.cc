#include "scenario/jmespath_values.h"

#include <cmath>

#include <fmt/format.h>

#include "scenario/jmespath.h"

namespace koord::scenario {

bool isTruthy(const json::value& value) {
  switch (value.kind()) {
    case json::kind::null:
      return false;
    case json::kind::bool_:
      return value.get_bool();
    case json::kind::string:
      return !value.get_string().empty();
    case json::kind::array:
      return !value.get_array().empty();
    case json::kind::object:
      return !value.get_object().empty();
    default:
      return true;
  }
}

bool equal(const json::value& a, const json::value& b) {
  if (jmespath::isNumber(a) && jmespath::isNumber(b)) return jmespath::order(a, b) == 0;
  if (a.kind() != b.kind()) return false;
  if (const auto* left = a.if_array()) {
    const auto& right = b.get_array();
    if (left->size() != right.size()) return false;
    for (std::size_t i = 0; i < right.size(); ++i) {
      if (!equal((*left)[i], right[i])) return false;
    }
    return true;
  }
  if (const auto* left = a.if_object()) {
    const auto& right = b.get_object();
    if (left->size() != right.size()) return false;
    for (const auto& member : *left) {
      const auto* other = right.if_contains(member.key());
      if (!other || !equal(member.value(), *other)) return false;
    }
    return true;
  }
  return a == b;
}

namespace jmespath {

bool isNumber(const json::value& value) {
  return value.is_int64() || value.is_uint64() || value.is_double();
}

double toDouble(const json::value& value) {
  if (value.is_int64()) return static_cast<double>(value.get_int64());
  if (value.is_uint64()) return static_cast<double>(value.get_uint64());
  return value.is_double() ? value.get_double() : 0;
}

std::optional<std::int64_t> toInteger(const json::value& value) {
  if (value.is_int64()) return value.get_int64();
  if (!value.is_double()) return std::nullopt;
  const json::value whole = numberOf(value.get_double());
  return whole.is_int64() ? std::optional(whole.get_int64()) : std::nullopt;
}

json::value numberOf(double value) {
  constexpr double kExact = 9007199254740992.0;  // 2^53
  if (value == std::trunc(value) && std::abs(value) <= kExact)
    return static_cast<std::int64_t>(value);
  return value;
}

std::string_view textOf(const json::value& value) {
  const auto& text = value.get_string();
  return {text.data(), text.size()};
}

json::value textValue(std::string_view text) {
  return json::string(text.data(), text.size());
}

std::string_view typeOf(const json::value& value) {
  switch (value.kind()) {
    case json::kind::null:
      return "null";
    case json::kind::bool_:
      return "boolean";
    case json::kind::string:
      return "string";
    case json::kind::array:
      return "array";
    case json::kind::object:
      return "object";
    default:
      return "number";
  }
}

std::string plainText(const json::value& value) {
  if (value.is_string()) return std::string(textOf(value));
  // Not Boost's "1.5E0".
  if (value.is_double()) return fmt::format("{}", value.get_double());
  return toJson(value);
}

std::optional<int> order(const json::value& a, const json::value& b) {
  const auto sign = [](auto left, auto right) { return left < right ? -1 : left > right ? 1 : 0; };
  if (a.is_int64() && b.is_int64()) return sign(a.get_int64(), b.get_int64());
  if (a.is_uint64() && b.is_uint64()) return sign(a.get_uint64(), b.get_uint64());
  if (isNumber(a) && isNumber(b)) return sign(toDouble(a), toDouble(b));
  if (a.is_string() && b.is_string()) return sign(textOf(a), textOf(b));
  return std::nullopt;
}

std::vector<std::string_view> charactersOf(std::string_view text) {
  std::vector<std::string_view> result;
  std::size_t from = 0;
  while (from < text.size()) {
    std::size_t to = from + 1;
    while (to < text.size() && (static_cast<unsigned char>(text[to]) & 0xc0) == 0x80) ++to;
    result.push_back(text.substr(from, to - from));
    from = to;
  }
  return result;
}

std::unexpected<Error> Arguments::failure(std::string_view what) const {
  return fail(ErrorCode::Invalid, fmt::format("{}(): {}", function_, what));
}

std::unexpected<Error> Arguments::wrong(std::size_t i, std::string_view expected) const {
  const std::string_view actual = all_[i].reference ? "an &expression" : typeOf(all_[i].value);
  return failure(fmt::format("argument {} must be {}, got {}", i + 1, expected, actual));
}

Result<std::string_view> Arguments::text(std::size_t i) const {
  if (!all_[i].value.is_string()) return wrong(i, "a string");
  return textOf(all_[i].value);
}

Result<std::int64_t> Arguments::integer(std::size_t i) const {
  const auto value = toInteger(all_[i].value);
  if (!value) return wrong(i, "an integer");
  return *value;
}

Result<double> Arguments::number(std::size_t i) const {
  if (!isNumber(all_[i].value)) return wrong(i, "a number");
  return toDouble(all_[i].value);
}

Result<const json::array*> Arguments::array(std::size_t i) const {
  const auto* array = all_[i].value.if_array();
  if (!array) return wrong(i, "an array");
  return array;
}

Result<const json::object*> Arguments::object(std::size_t i) const {
  const auto* object = all_[i].value.if_object();
  if (!object) return wrong(i, "an object");
  return object;
}

Result<const Node*> Arguments::reference(std::size_t i) const {
  if (!all_[i].reference) return wrong(i, "an &expression");
  return all_[i].reference;
}

}  // namespace jmespath
}  // namespace koord::scenario
