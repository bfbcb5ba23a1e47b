#include "base/json.h"

#include <algorithm>
#include <array>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/stream_parser.hpp>
#include <cmath>

#include <fmt/format.h>

#include "base/brief_json.h"
#include "base/json_measure.h"

namespace koord {
namespace {

json::parse_options deepOptions() {
  json::parse_options options;
  options.max_depth = kMaxJsonDepth + kJsonEnvelopeDepth;
  return options;
}

void writePretty(std::string& out, const json::value& value, std::size_t indent) {
  const std::string pad(indent + 2, ' ');
  if (const auto* object = value.if_object(); object && !object->empty()) {
    out += "{\n";
    bool first = true;
    for (const auto& member : *object) {
      if (!first) out += ",\n";
      first = false;
      out += pad + json::serialize(member.key()) + ": ";
      writePretty(out, member.value(), indent + 2);
    }
    out += "\n" + std::string(indent, ' ') + "}";
  } else if (const auto* array = value.if_array(); array && !array->empty()) {
    out += "[\n";
    bool first = true;
    for (const auto& item : *array) {
      if (!first) out += ",\n";
      first = false;
      out += pad;
      writePretty(out, item, indent + 2);
    }
    out += "\n" + std::string(indent, ' ') + "]";
  } else {
    out += json::serialize(value);
  }
}

// Numbers with exponents that no double can hold are read as infinite or, 0e400, as no number at
// all; neither could be written again.
bool outOfRange(const json::value& value) {
  if (const auto* number = value.if_double()) return !std::isfinite(*number);
  if (const auto* array = value.if_array()) return std::ranges::any_of(*array, outOfRange);
  if (const auto* object = value.if_object())
    return std::ranges::any_of(*object,
                               [](const auto& member) { return outOfRange(member.value()); });
  return false;
}

Result<json::value> parse(std::string_view text, json::storage_ptr storage) {
  json::error_code ec;
  // Room for the values of a pod, which would otherwise be moved whenever it doubles.
  alignas(json::value) std::array<unsigned char, 4096> room;
  json::stream_parser parser({}, deepOptions(), room.data(), room.size());
  parser.reset(std::move(storage));
  const std::size_t used = parser.write_some(text.data(), text.size(), ec);
  std::size_t where = used;
  if (!ec) {
    const auto rest = text.substr(used);
    const auto stray = rest.find_first_not_of(" \t\r\n");
    if (stray != std::string_view::npos) {
      ec = json::error::extra_data;
      where = used + stray;
    } else {
      parser.finish(ec);
    }
  }
  if (ec) {
    const auto before = text.substr(0, std::min(where, text.size()));
    const auto line = std::count(before.begin(), before.end(), '\n') + 1;
    const auto newline = before.rfind('\n');
    const auto column = before.size() - (newline == std::string_view::npos ? 0 : newline + 1) + 1;
    return fail(ErrorCode::BadRequest,
                fmt::format("not valid JSON: line {} column {}: {}", line, column, ec.message()));
  }
  json::value value = parser.release();
  if (outOfRange(value))
    return fail(ErrorCode::BadRequest, "not valid JSON: a number is out of range");
  return value;
}

}  // namespace

Result<json::value> parseJson(std::string_view text) {
  return parse(text, {});
}

BriefJson::BriefJson(std::string_view text)
    : memory_(room_.data(), room_.size()), value_(parse(text, &memory_)) {}

std::string toJson(const json::value& value) {
  return json::serialize(value);
}

std::string toPrettyJson(const json::value& value) {
  std::string out;
  writePretty(out, value, 0);
  return out;
}

std::optional<std::int64_t> wholeNumber(const json::value& value) {
  if (value.is_int64()) return value.get_int64();
  if (!value.is_double()) return std::nullopt;  // what is kept as uint64 is beyond int64
  const double number = value.get_double();
  constexpr double kLimit = 0x1p63;
  if (!(number >= -kLimit && number < kLimit) || number != std::trunc(number)) return std::nullopt;
  return static_cast<std::int64_t>(number);
}

std::optional<double> realNumber(const json::value& value) {
  if (value.is_double()) return value.get_double();
  if (value.is_int64()) return static_cast<double>(value.get_int64());
  if (value.is_uint64()) return static_cast<double>(value.get_uint64());
  return std::nullopt;
}

const json::value* find(const json::value& object, std::string_view key) {
  const auto* members = object.if_object();
  return members ? members->if_contains(key) : nullptr;
}

json::value* find(json::value& object, std::string_view key) {
  auto* members = object.if_object();
  return members ? members->if_contains(key) : nullptr;
}

const json::value& memberOf(const json::object& object, std::string_view key) {
  static const json::value kNone;
  const json::value* member = object.if_contains(key);
  return member ? *member : kNone;
}

const json::value& memberOf(const json::value& object, std::string_view key) {
  return memberOf(membersOf(object), key);
}

const json::object& membersOf(const json::value& object) {
  static const json::object kNone;
  const json::object* members = object.if_object();
  return members ? *members : kNone;
}

}  // namespace koord
