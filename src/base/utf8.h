#pragma once

#include <string>
#include <string_view>

namespace koord {

// One UTF-8 character: its code and length; length 0 if the bytes are not a character. The text
// must not be empty.
struct Utf8Character {
  char32_t code = 0;
  std::size_t length = 0;
};
Utf8Character utf8CharacterAt(std::string_view text);

bool isUtf8(std::string_view text);

// The text with U+FFFD for each invalid byte, as Go's encoder writes it. Readers reject JSON with
// invalid UTF-8.
std::string asUtf8(std::string_view text);

// The number of characters; the text should be UTF-8.
std::size_t charactersIn(std::string_view text);

// The beginning of the text, at most `most` bytes, without a partial character at its end.
std::string_view utf8Prefix(std::string_view text, std::size_t most);

// A text of unknown size and origin, for a message: its first bytes, at most `most`, as valid
// UTF-8, and "..." if the text is longer.
std::string shortened(std::string_view text, std::size_t most);

// The text for a terminal: characters that would move the cursor or change colours become "?".
// Keeps line ends and tabs.
std::string printable(std::string_view text);

}  // namespace koord
