// text.format(list): clauses %s, %d, %f, %e, %b, %x, %X, %o, with a precision for %f and %e, and
// %%.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "cel/library/strings.h"
#include "cel/number_text.h"
#include "cel/time_text.h"
#include "cel/value_access.h"

namespace koord::cel {

namespace {

constexpr int kDefaultPrecision = 6, kMaxPrecision = 1000;
constexpr int kMaxFormatDepth = 200;

struct Formatted {
  std::string text;
  std::string error;
};

Formatted formatFailure(std::string_view what, const Value& value) {
  return {"", fmt::format("error during formatting: {}, was given {}", what,
                          value.runtimeType().name())};
}

std::optional<std::string> specialDouble(const Value& value) {
  if (!value.is(Kind::Double) || std::isfinite(value.asDouble())) return std::nullopt;
  const double number = value.asDouble();
  return std::isnan(number) ? "NaN" : number < 0 ? "-Infinity" : "Infinity";
}

Formatted formatAny(const Value& value, int depth);

Formatted formatContainer(const Value& value, int depth) {
  std::vector<std::pair<std::string, std::string>> items;
  const bool isList = value.is(Kind::List);
  const std::size_t size = isList ? value.listSize() : value.mapSize();
  for (std::size_t i = 0; i < size; ++i) {
    Formatted key, item;
    if (isList) {
      item = formatAny(value.listAt(i), depth + 1);
    } else {
      const auto [k, v] = value.entryAt(i);
      key = formatAny(k, depth + 1);
      item = formatAny(v, depth + 1);
    }
    if (!key.error.empty()) return key;
    if (!item.error.empty()) return item;
    items.emplace_back(std::move(key.text), std::move(item.text));
  }
  if (!isList) std::ranges::stable_sort(items, {}, &std::pair<std::string, std::string>::first);
  std::string text = isList ? "[" : "{";
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i > 0) text += ", ";
    if (!isList) text += items[i].first + ": ";
    text += items[i].second;
  }
  return {text + (isList ? "]" : "}"), ""};
}

// %s
Formatted formatAny(const Value& value, int depth) {
  if (depth > kMaxFormatDepth) return {"", "error during formatting: the value nests too deeply"};
  switch (value.kind()) {
    case Kind::Null:
      return {"null", ""};
    case Kind::Bool:
    case Kind::Int:
      return {value.toString(), ""};
    case Kind::Uint:
      return {fmt::format("{}", value.asUint()), ""};
    case Kind::Double:
      return {specialDouble(value).value_or(plainDouble(value.asDouble())), ""};
    case Kind::String:
    case Kind::Bytes:
      return {std::string(value.text()), ""};
    case Kind::Timestamp:
      return {formatTimestamp(value.asTimestamp()), ""};
    case Kind::Duration:
      return {formatSeconds(value.asDuration()), ""};
    case Kind::Type:
      return {std::string(value.asType().name()), ""};
    case Kind::List:
    case Kind::Map:
      return formatContainer(value, depth);
    default:
      return formatFailure(
          "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, "
          "types, durations, and timestamps",
          value);
  }
}

Formatted formatDecimal(const Value& value) {
  if (value.isNumber()) return formatAny(value, 0);
  return formatFailure("decimal clause can only be used on ints, uints, and doubles", value);
}

double asReal(const Value& value) {
  if (value.is(Kind::Int)) return static_cast<double>(value.asInt());
  if (value.is(Kind::Uint)) return static_cast<double>(value.asUint());
  return value.asDouble();
}

Formatted formatReal(const Value& value, int precision, bool scientific) {
  if (!value.isNumber())
    return formatFailure(fmt::format("{} clause can only be used on ints, uints, and doubles",
                                     scientific ? "scientific" : "fixed-point"),
                         value);
  if (auto special = specialDouble(value)) return {*std::move(special), ""};
  return {scientific ? fmt::format("{:.{}e}", asReal(value), precision)
                     : fmt::format("{:.{}f}", asReal(value), precision),
          ""};
}

// An integer to the base, with a sign.
std::optional<std::string> inBase(const Value& value, char base) {
  std::uint64_t amount = 0;
  bool negative = false;
  if (value.is(Kind::Int)) {
    negative = value.asInt() < 0;
    amount = static_cast<std::uint64_t>(value.asInt());
    if (negative) amount = 0 - amount;
  } else if (value.is(Kind::Uint)) {
    amount = value.asUint();
  } else {
    return std::nullopt;
  }
  const std::string digits = base == 'b'   ? fmt::format("{:b}", amount)
                             : base == 'o' ? fmt::format("{:o}", amount)
                             : base == 'x' ? fmt::format("{:x}", amount)
                                           : fmt::format("{:X}", amount);
  return (negative ? "-" : "") + digits;
}

Formatted formatBase(const Value& value, char base) {
  if (auto number = inBase(value, base)) return {*std::move(number), ""};
  if (base == 'b') {
    if (value.is(Kind::Bool)) return {value.asBool() ? "1" : "0", ""};
    return formatFailure("only ints, uints, and bools can be formatted as binary", value);
  }
  if (base == 'o') return formatFailure("octal clause can only be used on ints and uints", value);
  if (!value.is(Kind::String) && !value.is(Kind::Bytes))
    return formatFailure("only ints, uints, bytes, and strings can be formatted as hex", value);
  std::string text;
  for (const char c : value.text()) {
    const auto byte = static_cast<unsigned char>(c);
    text += base == 'x' ? fmt::format("{:02x}", byte) : fmt::format("{:02X}", byte);
  }
  return {std::move(text), ""};
}

Formatted formatClause(char clause, int precision, const Value& value) {
  switch (clause) {
    case 's':
      return formatAny(value, 0);
    case 'd':
      return formatDecimal(value);
    case 'f':
      return formatReal(value, precision, false);
    case 'e':
      return formatReal(value, precision, true);
    case 'b':
    case 'o':
    case 'x':
    case 'X':
      return formatBase(value, clause);
    default:
      return {"", fmt::format("could not parse formatting clause: unrecognized formatting clause "
                              "\"{}\"",
                              clause)};
  }
}

// ".5" before the letter of a clause. nullopt if it is not a precision.
std::optional<int> readPrecision(std::string_view text, std::size_t& at) {
  if (at >= text.size() || text[at] != '.') return kDefaultPrecision;
  ++at;
  int precision = 0;
  const std::size_t begin = at;
  while (at < text.size() && text[at] >= '0' && text[at] <= '9') {
    precision = std::min(precision * 10 + (text[at] - '0'), kMaxPrecision + 1);
    ++at;
  }
  if (at == begin || precision > kMaxPrecision) return std::nullopt;
  return precision;
}

}  // namespace

Value formatString(Arguments arguments) {
  const std::string_view text = arguments[0].text();
  const Value& values = arguments[1];
  std::string result;
  std::size_t used = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '%') {
      result += text[at];
      continue;
    }
    if (++at >= text.size()) return Value::error("unexpected end of string");
    if (text[at] == '%') {
      result += '%';
      continue;
    }
    if (used >= values.listSize()) return Value::error(fmt::format("index {} out of range", used));
    const auto precision = readPrecision(text, at);
    if (!precision || at >= text.size())
      return Value::error("could not parse formatting clause: invalid precision");
    Formatted formatted = formatClause(text[at], *precision, values.listAt(used++));
    if (!formatted.error.empty()) return Value::error(std::move(formatted.error));
    result += formatted.text;
    if (result.size() > ValueAccess::kMaxText) return Value::error("text is too long");
  }
  return Value::string(std::move(result));
}

}  // namespace koord::cel
