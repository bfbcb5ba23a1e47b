#include "base/flags/go_values.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>

#include "base/split.h"
#include "base/time.h"

namespace koord::flags {

namespace {

auto refused(std::string_view function, std::string_view text, std::string_view why) {
  return fail(ErrorCode::Invalid,
              fmt::format("strconv.{}: parsing {}: {}", function, quoted(text), why));
}

int baseOf(std::string_view& digits) {
  if (digits.size() < 2 || digits[0] != '0') return 10;
  const char letter = digits[1] | 0x20;
  const int base = letter == 'x' ? 16 : letter == 'b' ? 2 : letter == 'o' ? 8 : 0;
  digits.remove_prefix(base == 0 ? 1 : 2);
  return base == 0 ? 8 : base;
}

// Underscores stand between digits only, or after the base, and only where one was said.
std::optional<std::string> withoutUnderscores(std::string_view digits, bool based) {
  if (digits.find('_') == digits.npos) return std::string(digits);
  std::string plain;
  bool afterDigit = based;
  for (const char c : digits) {
    if (c == '_' && !afterDigit) return std::nullopt;
    afterDigit = c != '_';
    if (afterDigit) plain += c;
  }
  if (!afterDigit) return std::nullopt;
  return plain;
}

}  // namespace

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

Result<bool> parseBool(std::string_view text) {
  for (const std::string_view yes : {"1", "t", "T", "TRUE", "true", "True"})
    if (text == yes) return true;
  for (const std::string_view no : {"0", "f", "F", "FALSE", "false", "False"})
    if (text == no) return false;
  return refused("ParseBool", text, "invalid syntax");
}

Result<std::int64_t> parseInteger(std::string_view text, std::int64_t least,
                                  std::int64_t greatest) {
  std::string_view digits = text;
  const bool negative = digits.starts_with('-');
  if (negative || digits.starts_with('+')) digits.remove_prefix(1);
  const std::size_t before = digits.size();
  const int base = baseOf(digits);
  const auto plain = withoutUnderscores(digits, digits.size() != before);
  if (!plain || plain->empty() || plain->front() == '-' || plain->front() == '+')
    return refused("ParseInt", text, "invalid syntax");
  const std::string number = (negative ? "-" : "") + *plain;
  std::int64_t value = 0;
  const auto [end, error] =
      std::from_chars(number.data(), number.data() + number.size(), value, base);
  if (error == std::errc::invalid_argument || end != number.data() + number.size())
    return refused("ParseInt", text, "invalid syntax");
  if (error != std::errc{} || value < least || value > greatest)
    return refused("ParseInt", text, "value out of range");
  return value;
}

Result<double> parseReal(std::string_view text) {
  const std::string_view digits = text.substr(text.starts_with('+') ? 1 : 0);
  double value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error == std::errc::result_out_of_range)
    return refused("ParseFloat", text, "value out of range");
  const bool twoSigns = text.size() > 1 && text[0] == '+' && text[1] == '-';
  if (error != std::errc{} || end != digits.data() + digits.size() || twoSigns)
    return refused("ParseFloat", text, "invalid syntax");
  return value;
}

Result<Duration> parseTimeSpan(std::string_view text) {
  auto parsed = parseDuration(text);
  if (parsed) return parsed;
  return fail(ErrorCode::Invalid, fmt::format("time: invalid duration {}: must be like 1h30m, "
                                              "1.5s or 250ms, with the unit",
                                              quoted(text)));
}

Result<std::vector<std::string>> parseList(std::string_view text) {
  std::vector<std::string> fields;
  if (text.empty()) return fields;
  for (;;) {
    std::string field;
    if (text.starts_with('"')) {
      text.remove_prefix(1);
      for (;;) {
        const auto quote = text.find('"');
        if (quote == text.npos)
          return fail(ErrorCode::Invalid, "extraneous or missing \" in quoted-field");
        field += text.substr(0, quote);
        text.remove_prefix(quote + 1);
        if (!text.starts_with('"')) break;
        field += '"';
        text.remove_prefix(1);
      }
      if (!text.empty() && text.front() != ',')
        return fail(ErrorCode::Invalid, "extraneous or missing \" in quoted-field");
    } else {
      field = text.substr(0, text.find(','));
      if (field.find('"') != field.npos)
        return fail(ErrorCode::Invalid, "bare \" in non-quoted-field");
      text.remove_prefix(field.size());
    }
    fields.push_back(std::move(field));
    if (text.empty()) return fields;
    text.remove_prefix(1);  // the comma
  }
}

Result<std::map<std::string, std::string>> parseMap(std::string_view text) {
  std::map<std::string, std::string> map;
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), item.size() + 1));
    if (item.empty()) continue;
    const auto equals = item.find('=');
    if (equals == item.npos)
      return fail(ErrorCode::Invalid,
                  fmt::format("malformed pair, expect string=string: {}", quoted(item)));
    map[std::string(trim(item.substr(0, equals)))] = trim(item.substr(equals + 1));
  }
  return map;
}

}  // namespace koord::flags
