#pragma once

// Letters and digits of ASCII, independent of the locale. Every other byte is neither, and no
// function changes it.

#include <algorithm>
#include <string>
#include <string_view>

namespace koord {

constexpr bool isDigit(char c) {
  return c >= '0' && c <= '9';
}
constexpr bool isLower(char c) {
  return c >= 'a' && c <= 'z';
}
constexpr bool isUpper(char c) {
  return c >= 'A' && c <= 'Z';
}

constexpr char lowered(char c) {
  return isUpper(c) ? static_cast<char>(c + ('a' - 'A')) : c;
}
inline std::string lowered(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = lowered(c);
  return out;
}

inline bool sameIgnoringCase(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) { return lowered(x) == lowered(y); });
}

}  // namespace koord
