#pragma once

#include <string>
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

// The text with U+FFFD for each invalid byte, as Go's encoder writes it. JSON with invalid UTF-8 is
// refused by readers.
std::string asUtf8(std::string_view text);

// The number of characters; the text should be UTF-8.
std::size_t charactersIn(std::string_view text);

// The beginning of the text, of at most that many bytes, that cuts no character in two.
std::string_view utf8Prefix(std::string_view text, std::size_t most);

// A text of unknown size and origin, for a message: its beginning of at most `most` bytes as valid
// UTF-8, with "..." if that is not all.
std::string shortened(std::string_view text, std::size_t most);

// The text for a terminal: what would move its cursor or change its colours is shown as "?". Lines
// and tabs stay.
std::string printable(std::string_view text);

}  // namespace koord
