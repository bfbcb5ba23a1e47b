// int("5"), string(1.5), timestamp("..."), type(x), dyn(x).

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "base/time.h"
#include "base/utf8.h"
#include "cel/library/standard.h"
#include "cel/number_text.h"
#include "cel/time_text.h"
#include "cel/value_access.h"

namespace koord::cel {

namespace {

constexpr double kTwo63 = 9223372036854775808.0;
constexpr double kTwo64 = 18446744073709551616.0;

Value same(Arguments arguments) {
  return arguments[0];
}

template <class T>
std::optional<T> parseWhole(std::string_view text) {
  T number{};
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

Value doubleToInt(Arguments arguments) {
  const double number = arguments[0].asDouble();
  if (std::isnan(number) || number <= -kTwo63 || number >= kTwo63)
    return Value::error("integer overflow");
  return Value::integer(static_cast<std::int64_t>(number));
}
Value uintToInt(Arguments arguments) {
  if (arguments[0].asUint() > INT64_MAX) return Value::error("integer overflow");
  return Value::integer(static_cast<std::int64_t>(arguments[0].asUint()));
}
Value stringToInt(Arguments arguments) {
  std::string_view text = arguments[0].text();
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  if (const auto number = parseWhole<std::int64_t>(text)) return Value::integer(*number);
  return Value::error(fmt::format("cannot convert \"{}\" to int", arguments[0].text()));
}

Value doubleToUint(Arguments arguments) {
  const double number = arguments[0].asDouble();
  if (std::isnan(number) || number < 0 || number >= kTwo64)
    return Value::error("unsigned integer overflow");
  return Value::unsignedInteger(static_cast<std::uint64_t>(number));
}
Value intToUint(Arguments arguments) {
  if (arguments[0].asInt() < 0) return Value::error("unsigned integer overflow");
  return Value::unsignedInteger(static_cast<std::uint64_t>(arguments[0].asInt()));
}
Value stringToUint(Arguments arguments) {
  const auto number = parseWhole<std::uint64_t>(arguments[0].text());
  if (number) return Value::unsignedInteger(*number);
  return Value::error(fmt::format("cannot convert \"{}\" to uint", arguments[0].text()));
}

Value stringToDouble(Arguments arguments) {
  std::string_view text = arguments[0].text();
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  double number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code == std::errc() && end == text.data() + text.size()) return Value::real(number);
  return Value::error(fmt::format("cannot convert \"{}\" to double", arguments[0].text()));
}

Value stringToBool(Arguments arguments) {
  const std::string_view text = arguments[0].text();
  for (const std::string_view yes : {"1", "t", "T", "true", "TRUE", "True"})
    if (text == yes) return Value::boolean(true);
  for (const std::string_view no : {"0", "f", "F", "false", "FALSE", "False"})
    if (text == no) return Value::boolean(false);
  return Value::error(fmt::format("cannot convert \"{}\" to bool", text));
}

Value bytesToString(Arguments arguments) {
  if (!isUtf8(arguments[0].text()))
    return Value::error("invalid UTF-8 in bytes, cannot convert to string");
  return Value::string(std::string(arguments[0].text()));
}

Value numberToString(Arguments arguments) {
  const Value& value = arguments[0];
  if (value.is(Kind::Double)) return Value::string(doubleText(value.asDouble()));
  if (value.is(Kind::Uint)) return Value::string(fmt::format("{}", value.asUint()));
  return Value::string(value.toString());
}

Value stringToTimestamp(Arguments arguments) {
  const auto time = parseTimestamp(arguments[0].text());
  return time ? Value::timestamp(*time) : Value::error(time.error().message);
}
Value intToTimestamp(Arguments arguments) {
  const std::int64_t seconds = arguments[0].asInt();
  if (seconds < kMinSeconds || seconds > kMaxSeconds) return Value::error("timestamp overflow");
  return Value::timestamp({seconds, 0});
}
Value stringToDuration(Arguments arguments) {
  const auto duration = parseDuration(arguments[0].text());
  return duration ? Value::duration(duration->count()) : Value::error(duration.error().message);
}

void addNumberConversions(Library& library) {
  const Type i = Type::integer(), u = Type::unsignedInteger(), d = Type::real();
  const Type s = Type::string(), t = Type::timestamp(), p = Type::duration();
  library.add("int", {globalOverload("int64_to_int64", {i}, i, same),
                      globalOverload("double_to_int64", {d}, i, doubleToInt),
                      globalOverload("duration_to_int64", {p}, i,
                                     [](Arguments x) { return Value::integer(x[0].asDuration()); }),
                      globalOverload("string_to_int64", {s}, i, stringToInt),
                      globalOverload(
                          "timestamp_to_int64", {t}, i,
                          [](Arguments x) { return Value::integer(x[0].asTimestamp().seconds); }),
                      globalOverload("uint64_to_int64", {u}, i, uintToInt)});
  library.add("uint", {globalOverload("uint64_to_uint64", {u}, u, same),
                       globalOverload("double_to_uint64", {d}, u, doubleToUint),
                       globalOverload("int64_to_uint64", {i}, u, intToUint),
                       globalOverload("string_to_uint64", {s}, u, stringToUint)});
  library.add(
      "double",
      {globalOverload("double_to_double", {d}, d, same),
       globalOverload("int64_to_double", {i}, d,
                      [](Arguments x) { return Value::real(static_cast<double>(x[0].asInt())); }),
       globalOverload("string_to_double", {s}, d, stringToDouble),
       globalOverload("uint64_to_double", {u}, d, [](Arguments x) {
         return Value::real(static_cast<double>(x[0].asUint()));
       })});
}

}  // namespace

void addConversions(Library& library) {
  const Type i = Type::integer(), u = Type::unsignedInteger(), d = Type::real();
  const Type s = Type::string(), y = Type::bytes(), t = Type::timestamp(), p = Type::duration();
  const Type flag = Type::boolean(), a = Type::parameter("A");
  addNumberConversions(library);
  library.add("bool", {globalOverload("bool_to_bool", {flag}, flag, same),
                       globalOverload("string_to_bool", {s}, flag, stringToBool)});
  library.add("bytes", {globalOverload("bytes_to_bytes", {y}, y, same),
                        globalOverload("string_to_bytes", {s}, y, [](Arguments x) {
                          return Value::bytes(std::string(x[0].text()));
                        })});
  library.add(
      "string",
      {globalOverload("string_to_string", {s}, s, same),
       globalOverload("bool_to_string", {flag}, s, numberToString),
       globalOverload("bytes_to_string", {y}, s, bytesToString),
       globalOverload("double_to_string", {d}, s, numberToString),
       globalOverload("duration_to_string", {p}, s,
                      [](Arguments x) { return Value::string(formatSeconds(x[0].asDuration())); }),
       globalOverload("int64_to_string", {i}, s, numberToString),
       globalOverload(
           "timestamp_to_string", {t}, s,
           [](Arguments x) { return Value::string(formatTimestamp(x[0].asTimestamp())); }),
       globalOverload("uint64_to_string", {u}, s, numberToString)});
  library.add("timestamp", {globalOverload("timestamp_to_timestamp", {t}, t, same),
                            globalOverload("int64_to_timestamp", {i}, t, intToTimestamp),
                            globalOverload("string_to_timestamp", {s}, t, stringToTimestamp)});
  library.add("duration",
              {globalOverload("duration_to_duration", {p}, p, same),
               globalOverload("int64_to_duration", {i}, p,
                              [](Arguments x) { return Value::duration(x[0].asInt()); }),
               globalOverload("string_to_duration", {s}, p, stringToDuration)});
  library.add("dyn", {globalOverload("to_dyn", {a}, Type::dyn(), same)});
  library.add("type", {globalOverload("type", {a}, Type::type(a), [](Arguments x) {
                return Value::type(x[0].runtimeType());
              })});
}

}  // namespace koord::cel
