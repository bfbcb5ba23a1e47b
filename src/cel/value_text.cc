// Values as text for messages.

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>

#include "cel/number_text.h"
#include "cel/time_text.h"
#include "cel/value_access.h"

namespace koord::cel {

namespace {

std::string quotedText(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (c == '\n') {
      result += "\\n";
    } else if (static_cast<unsigned char>(c) < 0x20) {
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      result += c;
    }
  }
  return result + "\"";
}

// Messages show the beginning of a container: its text can be much longer than what the container
// takes in memory.
constexpr std::size_t kMaxContainerText = 4096;

std::string containerText(const Value& value) {
  std::string text = value.is(Kind::List) ? "[" : "{";
  const std::size_t size = value.is(Kind::List) ? value.listSize() : value.mapSize();
  for (std::size_t i = 0; i < size; ++i) {
    if (i > 0) text += ", ";
    if (text.size() > kMaxContainerText) return text + "...";
    if (value.is(Kind::List)) {
      text += value.listAt(i).toString();
    } else {
      const auto [key, member] = value.entryAt(i);
      text += key.toString() + ": " + member.toString();
    }
  }
  return text + (value.is(Kind::List) ? "]" : "}");
}

}  // namespace

std::string doubleText(double number) {
  if (std::isnan(number)) return "NaN";
  if (std::isinf(number)) return number < 0 ? "-Inf" : "+Inf";
  // Go writes an exponent below 1e-4 and from 1e6 on, of at least two digits.
  const double size = std::abs(number);
  if (size == 0 || (size >= 1e-4 && size < 1e6)) return plainDouble(number);
  std::array<char, 64> buffer;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number,
                                 std::chars_format::scientific);
  return {buffer.data(), end.ptr};
}

std::string plainDouble(double number) {
  std::array<char, 400> buffer;
  const auto end =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), number, std::chars_format::fixed);
  return {buffer.data(), end.ptr};
}

std::string Value::toString() const {
  switch (kind_) {
    case Kind::Null:
      return "null";
    case Kind::Bool:
      return asBool() ? "true" : "false";
    case Kind::Int:
      return fmt::format("{}", asInt());
    case Kind::Uint:
      return fmt::format("{}u", asUint());
    case Kind::Double:
      return doubleText(asDouble());
    case Kind::String:
      return quotedText(text());
    case Kind::Bytes:
      return "b" + quotedText(text());
    case Kind::Timestamp:
      return fmt::format("timestamp(\"{}\")", formatTimestamp(asTimestamp()));
    case Kind::Duration:
      return fmt::format("duration(\"{}\")", formatSeconds(asDuration()));
    case Kind::List:
    case Kind::Map:
      return containerText(*this);
    case Kind::Object:
      return fmt::format("{}{{}}", objectType().name());
    case Kind::Opaque:
      return fmt::format("{}(\"{}\")", asOpaque().type().name(), asOpaque().toString());
    case Kind::Optional:
      return optionalValue() ? fmt::format("optional.of({})", optionalValue()->toString())
                             : "optional.none()";
    case Kind::Type:
      return std::string(asType().name());
    case Kind::Error:
      return "error: " + errorMessage();
  }
  return {};
}

}  // namespace koord::cel
