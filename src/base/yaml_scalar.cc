#include "base/yaml_scalar.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "base/ascii.h"

namespace koord {
namespace {

constexpr std::string_view kTagPrefix = "tag:yaml.org,2002:";

template <std::size_t N>
bool isOneOf(std::string_view text, const std::array<std::string_view, N>& words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

bool isNull(std::string_view text) {
  return isOneOf(text, std::array<std::string_view, 5>{"", "~", "null", "Null", "NULL"});
}

std::optional<bool> asBool(std::string_view text) {
  static constexpr std::array<std::string_view, 11> kTrue = {
      "y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"};
  static constexpr std::array<std::string_view, 11> kFalse = {
      "n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"};
  if (isOneOf(text, kTrue)) return true;
  if (isOneOf(text, kFalse)) return false;
  return std::nullopt;
}

// Underscores may separate digits, as in 1_000.
std::string withoutUnderscores(std::string_view text) {
  std::string result(text);
  std::erase(result, '_');
  return result;
}

std::optional<json::value> asInteger(std::string_view text) {
  std::string digits = withoutUnderscores(text);
  bool negative = false;
  if (!digits.empty() && (digits[0] == '+' || digits[0] == '-')) {
    negative = digits[0] == '-';
    digits.erase(0, 1);
  }
  int base = 10;
  if (digits.size() > 1 && digits[0] == '0') {
    const char kind = static_cast<char>(digits[1] | 0x20);
    base = kind == 'x' ? 16 : kind == 'b' ? 2 : 8;
    digits.erase(0, base == 8 && kind != 'o' ? 1 : 2);
  }
  if (digits.empty() || digits[0] == '+' || digits[0] == '-') return std::nullopt;
  std::uint64_t magnitude = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stop, ec] = std::from_chars(digits.data(), end, magnitude, base);
  if (ec != std::errc() || stop != end) return std::nullopt;
  constexpr std::uint64_t kMax = std::uint64_t{1} << 63;
  if (negative) {
    if (magnitude > kMax) return std::nullopt;
    return json::value(static_cast<std::int64_t>(0 - magnitude));
  }
  if (magnitude < kMax) return json::value(static_cast<std::int64_t>(magnitude));
  return json::value(magnitude);
}

// [-+]? (. digits | digits [. digits?]) ([eE] [-+]? digits)?
bool looksLikeFloat(std::string_view text) {
  std::size_t i = 0;
  const auto digits = [&] {
    const std::size_t from = i;
    while (i < text.size() && isDigit(text[i])) ++i;
    return i - from;
  };
  if (i < text.size() && (text[i] == '+' || text[i] == '-')) ++i;
  const bool whole = digits() > 0;
  if (i < text.size() && text[i] == '.') {
    ++i;
    if (digits() == 0 && !whole) return false;
  } else if (!whole) {
    return false;
  }
  if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
    ++i;
    if (i < text.size() && (text[i] == '+' || text[i] == '-')) ++i;
    if (digits() == 0) return false;
  }
  return i == text.size();
}

std::optional<json::value> asFloat(std::string_view text) {
  std::string digits = withoutUnderscores(text);
  if (!looksLikeFloat(digits)) return std::nullopt;
  const char* const start = digits.data() + (digits[0] == '+' ? 1 : 0);
  double value = 0;
  const auto [stop, ec] = std::from_chars(start, digits.data() + digits.size(), value);
  if (ec != std::errc() || stop != digits.data() + digits.size()) return std::nullopt;
  constexpr double kExact = 9007199254740992.0;  // 2^53
  if (value == std::trunc(value) && std::abs(value) <= kExact) {
    return json::value(static_cast<std::int64_t>(value));
  }
  return json::value(value);
}

bool isInfiniteOrNan(std::string_view text) {
  if (!text.empty() && (text[0] == '+' || text[0] == '-')) text.remove_prefix(1);
  return isOneOf(text,
                 std::array<std::string_view, 6>{".inf", ".Inf", ".INF", ".nan", ".NaN", ".NAN"});
}

std::unexpected<Error> notA(std::string_view what, std::string_view text) {
  return fail(ErrorCode::BadRequest, fmt::format("\"{}\" is not {}", text, what));
}

}  // namespace

Result<json::value> plainScalar(const std::string& text) {
  if (isNull(text)) return json::value(nullptr);
  if (const auto truth = asBool(text)) return json::value(*truth);
  const char first = text[0];
  if (first != '+' && first != '-' && first != '.' && !isDigit(first)) return json::string(text);
  if (isInfiniteOrNan(text)) return fail(ErrorCode::BadRequest, "JSON has no number " + text);
  if (auto number = asInteger(text)) return *std::move(number);
  if (auto number = asFloat(text)) return *std::move(number);
  return json::string(text);
}

Result<json::value> typedScalar(std::string_view tag, const std::string& text) {
  if (tag.empty() || tag == "?") return plainScalar(text);
  if (tag == "!") return json::string(text);
  if (!tag.starts_with(kTagPrefix)) {
    return fail(ErrorCode::BadRequest, fmt::format("unsupported tag {}", tag));
  }
  const auto type = tag.substr(kTagPrefix.size());
  if (type == "str") return json::string(text);
  if (type == "null") return isNull(text) ? Result<json::value>(nullptr) : notA("null", text);
  if (type == "bool") {
    const auto truth = asBool(text);
    return truth ? Result<json::value>(*truth) : notA("a boolean", text);
  }
  if (type == "int") {
    auto number = asInteger(text);
    return number ? Result<json::value>(*std::move(number)) : notA("an integer", text);
  }
  if (type == "float") {
    auto number = asFloat(text);
    return number ? Result<json::value>(*std::move(number)) : notA("a number", text);
  }
  return fail(ErrorCode::BadRequest, fmt::format("unsupported tag {}", tag));
}

}  // namespace koord
