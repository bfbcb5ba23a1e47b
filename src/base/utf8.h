#pragma once

#include <string_view>

namespace koord {

// One UTF-8 character: its code and length; length 0 when the bytes are none. The text must not be
// empty.
struct Utf8Character {
  char32_t code = 0;
  std::size_t length = 0;
};
Utf8Character utf8CharacterAt(std::string_view text);

bool isUtf8(std::string_view text);

}  // namespace koord
