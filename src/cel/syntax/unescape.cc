#include <optional>

#include "cel/syntax/lexer.h"
#include "cel/utf8_text.h"

namespace koord::cel {

namespace {

std::optional<int> digitOf(char c, int base) {
  int value = base;
  if (c >= '0' && c <= '9') value = c - '0';
  if (c >= 'a' && c <= 'f') value = c - 'a' + 10;
  if (c >= 'A' && c <= 'F') value = c - 'A' + 10;
  if (value >= base) return std::nullopt;
  return value;
}

// The number that `count` digits of the text make from `at` on.
std::optional<char32_t> numberAt(std::string_view text, std::size_t at, std::size_t count,
                                 int base) {
  if (at + count > text.size()) return std::nullopt;
  char32_t value = 0;
  for (std::size_t i = at; i < at + count; ++i) {
    const auto digit = digitOf(text[i], base);
    if (!digit) return std::nullopt;
    value = value * static_cast<char32_t>(base) + static_cast<char32_t>(*digit);
  }
  return value;
}

char simpleEscape(char c) {
  switch (c) {
    case 'a':
      return '\a';
    case 'b':
      return '\b';
    case 'f':
      return '\f';
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    case 'v':
      return '\v';
    case '\\':
    case '\'':
    case '"':
    case '`':
    case '?':
      return c;
    default:
      return '\0';
  }
}

// The sequence that begins at text[at], after the backslash. Returns its length, 0 if it is
// invalid.
std::size_t decodeEscape(std::string_view text, std::size_t at, bool bytes, std::string& out) {
  const char c = text[at];
  if (const char simple = simpleEscape(c)) {
    out += simple;
    return 1;
  }
  std::optional<char32_t> code;
  std::size_t length = 0;
  bool isByte = true;  // in a bytes literal, the number is a byte and not a code point
  if (c == 'x' || c == 'X') {
    code = numberAt(text, at + 1, 2, 16);
    length = 3;
  } else if (c >= '0' && c <= '3') {
    code = numberAt(text, at, 3, 8);
    length = 3;
  } else if (c == 'u' || c == 'U') {
    length = c == 'u' ? 5 : 9;
    code = numberAt(text, at + 1, length - 1, 16);
    isByte = false;
  }
  if (!code || (!isByte && bytes)) return 0;
  if (bytes) {
    out += static_cast<char>(*code);
    return length;
  }
  if (*code > 0x10FFFF || (*code >= 0xD800 && *code <= 0xDFFF)) return 0;
  appendCodePoint(out, *code);
  return length;
}

}  // namespace

bool unescape(std::string_view content, bool bytes, std::string& out) {
  for (std::size_t i = 0; i < content.size(); ++i) {
    if (content[i] == '\r') {  // a line ends with \n, however the text writes it
      out += '\n';
      if (i + 1 < content.size() && content[i + 1] == '\n') ++i;
      continue;
    }
    if (content[i] != '\\') {
      out += content[i];
      continue;
    }
    if (i + 1 == content.size()) return false;
    const std::size_t length = decodeEscape(content, i + 1, bytes, out);
    if (length == 0) return false;
    i += length;
  }
  return true;
}

}  // namespace koord::cel
