#include <cstdlib>

#include <fmt/format.h>

#include "base/time.h"
#include "base/yaml.h"
#include "net/tls.h"
#include "scenario/jmespath_values.h"

// Types and conversions, documents in text, and times.

namespace koord::scenario::jmespath {
namespace {

using Args = std::span<const Argument>;

Result<json::value> type(Args all, const Scope&) {
  return textValue(typeOf(all[0].value));
}

Result<json::value> toNumber(Args all, const Scope&) {
  const auto& value = all[0].value;
  if (isNumber(value)) return value;
  if (!value.is_string()) return json::value(nullptr);
  const auto parsed = parseJson(textOf(value));
  if (!parsed || !isNumber(*parsed)) return json::value(nullptr);
  return parsed->is_double() ? numberOf(parsed->get_double()) : *parsed;
}

Result<json::value> toString(Args all, const Scope&) {
  return textValue(plainText(all[0].value));
}

Result<json::value> toBoolean(Args all, const Scope&) {
  const Arguments arguments("to_boolean", all);
  const auto text = arguments.text(0);
  if (!text) return fail(text.error());
  std::string lower(*text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  if (lower == "true") return json::value(true);
  if (lower == "false") return json::value(false);
  return arguments.failure(fmt::format("\"{}\" is neither true nor false", *text));
}

Result<json::value> parsedJson(const Arguments& arguments) {
  const auto text = arguments.text(0);
  if (!text) return fail(text.error());
  auto value = parseJson(*text);
  if (!value) return arguments.failure(value.error().message);
  return value;
}
Result<json::value> jsonParse(Args all, const Scope&) {
  return parsedJson(Arguments("json_parse", all));
}
Result<json::value> parseJsonText(Args all, const Scope&) {
  return parsedJson(Arguments("parse_json", all));
}

Result<json::value> parseYamlText(Args all, const Scope&) {
  const Arguments arguments("parse_yaml", all);
  const auto text = arguments.text(0);
  if (!text) return fail(text.error());
  auto value = parseYaml(*text);
  if (!value) return arguments.failure(value.error().message);
  return value;
}

Result<json::value> base64Encode(Args all, const Scope&) {
  const auto text = Arguments("base64_encode", all).text(0);
  if (!text) return fail(text.error());
  return textValue(net::base64Encode(*text));
}

Result<json::value> base64Decode(Args all, const Scope&) {
  const Arguments arguments("base64_decode", all);
  const auto text = arguments.text(0);
  if (!text) return fail(text.error());
  const auto decoded = net::base64Decode(*text);
  if (!decoded) return arguments.failure(decoded.error().message);
  return textValue(*decoded);
}

Result<json::value> env(Args all, const Scope&) {
  const auto name = Arguments("env", all).text(0);
  if (!name) return fail(name.error());
  const char* value = std::getenv(std::string(*name).c_str());
  return textValue(value ? value : "");
}

Result<WallTime> timeAt(const Arguments& arguments, std::size_t i) {
  const auto text = arguments.text(i);
  if (!text) return fail(text.error());
  auto time = parseTime(*text);
  if (!time) return arguments.wrong(i, "a time like 2026-01-31T08:00:00Z");
  return time;
}

Result<json::value> timeNow(Args, const Scope& scope) {
  if (!scope.bindings.clock()) return fail(ErrorCode::Invalid, "time_now(): no clock is available");
  return textValue(formatTime(scope.bindings.clock()->wallNow()));
}

Result<json::value> timeAdd(Args all, const Scope&) {
  const Arguments arguments("time_add", all);
  const auto time = timeAt(arguments, 0);
  if (!time) return fail(time.error());
  const auto text = arguments.text(1);
  if (!text) return fail(text.error());
  const auto duration = parseDuration(*text);
  if (!duration) return arguments.wrong(1, "a duration like 1h30m");
  return textValue(formatTime(*time + *duration));
}

Result<json::value> timeDiff(Args all, const Scope&) {
  const Arguments arguments("time_diff", all);
  const auto from = timeAt(arguments, 0);
  if (!from) return fail(from.error());
  const auto to = timeAt(arguments, 1);
  if (!to) return fail(to.error());
  return textValue(formatDuration(*to - *from));
}

// Only RFC 3339: the first argument, a Go layout, must be empty.
Result<json::value> timeSince(Args all, const Scope& scope) {
  const Arguments arguments("time_since", all);
  const auto layout = arguments.text(0);
  if (!layout) return fail(layout.error());
  if (!layout->empty()) return arguments.wrong(0, "'' (RFC 3339)");
  const auto from = timeAt(arguments, 1);
  if (!from) return fail(from.error());
  const auto end = arguments.text(2);
  if (!end) return fail(end.error());
  if (end->empty()) {
    if (!scope.bindings.clock()) return arguments.failure("no clock is available");
    return textValue(formatDuration(scope.bindings.clock()->wallNow() - *from));
  }
  const auto to = timeAt(arguments, 2);
  if (!to) return fail(to.error());
  return textValue(formatDuration(*to - *from));
}

Result<json::value> timeOrder(const Arguments& arguments, bool before) {
  const auto a = timeAt(arguments, 0);
  if (!a) return fail(a.error());
  const auto b = timeAt(arguments, 1);
  if (!b) return fail(b.error());
  return json::value(before ? *a < *b : *a > *b);
}
Result<json::value> timeBefore(Args all, const Scope&) {
  return timeOrder(Arguments("time_before", all), true);
}
Result<json::value> timeAfter(Args all, const Scope&) {
  return timeOrder(Arguments("time_after", all), false);
}

Result<json::value> timeBetween(Args all, const Scope&) {
  const Arguments arguments("time_between", all);
  WallTime times[3];
  for (std::size_t i = 0; i < 3; ++i) {
    const auto time = timeAt(arguments, i);
    if (!time) return fail(time.error());
    times[i] = *time;
  }
  return json::value(times[1] < times[0] && times[0] < times[2]);
}

constexpr FunctionEntry kMiscFunctions[] = {
    {"base64_decode", 1, 1, base64Decode},
    {"base64_encode", 1, 1, base64Encode},
    {"env", 1, 1, env},
    {"json_parse", 1, 1, jsonParse},
    {"parse_json", 1, 1, parseJsonText},
    {"parse_yaml", 1, 1, parseYamlText},
    {"time_add", 2, 2, timeAdd},
    {"time_after", 2, 2, timeAfter},
    {"time_before", 2, 2, timeBefore},
    {"time_between", 3, 3, timeBetween},
    {"time_diff", 2, 2, timeDiff},
    {"time_now", 0, 0, timeNow},
    {"time_now_utc", 0, 0, timeNow},
    {"time_since", 3, 3, timeSince},
    {"to_boolean", 1, 1, toBoolean},
    {"to_number", 1, 1, toNumber},
    {"to_string", 1, 1, toString},
    {"type", 1, 1, type},
};

}  // namespace

std::span<const FunctionEntry> miscFunctions() {
  return kMiscFunctions;
}

}  // namespace koord::scenario::jmespath
