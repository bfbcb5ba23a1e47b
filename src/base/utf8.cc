#include "base/utf8.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace koord {

Utf8Character utf8CharacterAt(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (byte(0) < 0x80) return {byte(0), 1};
  const std::size_t length = byte(0) >= 0xf0 ? 4 : byte(0) >= 0xe0 ? 3 : 2;
  if (byte(0) < 0xc2 || byte(0) > 0xf4 || length > text.size()) return {};
  char32_t code = byte(0) & (0x7f >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3f);
  }
  const bool tooLong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  const bool none = (code >= 0xd800 && code < 0xe000) || code > 0x10ffff;
  return tooLong || none ? Utf8Character{} : Utf8Character{code, length};
}

bool isUtf8(std::string_view text) {
  while (!text.empty()) {
    // Nearly all of it is ASCII, which is looked at eight bytes at a time.
    std::uint64_t bytes = 0;
    if (text.size() >= sizeof(bytes)) {
      std::memcpy(&bytes, text.data(), sizeof(bytes));
      if ((bytes & 0x8080808080808080U) == 0) {
        text.remove_prefix(sizeof(bytes));
        continue;
      }
    }
    const auto length = utf8CharacterAt(text).length;
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string asUtf8(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const auto length = utf8CharacterAt(text).length;
    out += length > 0 ? text.substr(0, length) : std::string_view("\xef\xbf\xbd");
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out;
}

std::size_t charactersIn(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string_view utf8Prefix(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text;
  // A character has at most three bytes after its first. With more, the text is not UTF-8 anyway.
  std::size_t end = most;
  for (int i = 0; i < 3 && end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80; ++i)
    --end;
  return text.substr(0, end);
}

std::string shortened(std::string_view text, std::size_t most) {
  std::string out = asUtf8(utf8Prefix(text, most));
  if (text.size() > most) out += "...";
  return out;
}

std::string printable(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const auto length = std::max<std::size_t>(utf8CharacterAt(text).length, 1);
    const auto first = static_cast<unsigned char>(text[0]);
    const bool stays = first == '\n' || first == '\t';
    // The second set of controls is U+0080 to U+009F.
    const bool control =
        (first < 0x20 && !stays) || first == 0x7F ||
        (first == 0xC2 && length == 2 && static_cast<unsigned char>(text[1]) < 0xA0);
    out += control ? std::string_view("?") : text.substr(0, length);
    text.remove_prefix(length);
  }
  return asUtf8(out);
}

}  // namespace koord
