#pragma once

// Text by code points, which is how CEL counts and indexes strings. All functions expect valid
// UTF-8 and stay within the text if it is not valid.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace koord::cel {

inline bool isContinuation(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) == 0x80;
}

std::size_t countCodePoints(std::string_view text);

// The byte at which the code point of this index begins; the text's size if there are not as many.
std::size_t byteOfCodePoint(std::string_view text, std::size_t index);

// The code points of the text, each as its bytes.
std::vector<std::string_view> splitCodePoints(std::string_view text);
std::vector<char32_t> decodeCodePoints(std::string_view text);

void appendCodePoint(std::string& text, char32_t code);

}  // namespace koord::cel
