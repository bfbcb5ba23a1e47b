#include "cel/utf8_text.h"

#include <cstring>

#include "base/utf8.h"

namespace koord::cel {

std::size_t countCodePoints(std::string_view text) {
  constexpr std::uint64_t kOnes = 0x0101010101010101;
  std::size_t at = 0, continuations = 0;
  // Eight bytes at a time: a continuation has the highest bit and not the next one.
  for (; text.size() - at >= sizeof(std::uint64_t); at += sizeof(std::uint64_t)) {
    std::uint64_t bytes = 0;
    std::memcpy(&bytes, text.data() + at, sizeof(bytes));
    continuations += ((bytes >> 7 & ~bytes >> 6 & kOnes) * kOnes) >> 56;
  }
  for (; at < text.size(); ++at) continuations += isContinuation(text[at]) ? 1 : 0;
  return text.size() - continuations;
}

std::size_t byteOfCodePoint(std::string_view text, std::size_t index) {
  std::size_t at = 0;
  // Counting a block takes a few instructions.
  constexpr std::size_t kBlock = 128;
  while (text.size() - at >= kBlock) {
    const std::size_t count = countCodePoints(text.substr(at, kBlock));
    if (count > index) break;
    index -= count;
    at += kBlock;
  }
  while (at < text.size()) {
    if (!isContinuation(text[at]) && index-- == 0) return at;
    ++at;
  }
  return text.size();
}

std::vector<std::string_view> splitCodePoints(std::string_view text) {
  std::vector<std::string_view> result;
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t end = begin + 1;
    while (end < text.size() && isContinuation(text[end])) ++end;
    result.push_back(text.substr(begin, end - begin));
    begin = end;
  }
  return result;
}

std::vector<char32_t> decodeCodePoints(std::string_view text) {
  std::vector<char32_t> result;
  while (!text.empty()) {
    const Utf8Character character = utf8CharacterAt(text);
    result.push_back(character.length == 0 ? 0xFFFD : character.code);
    text.remove_prefix(character.length == 0 ? 1 : character.length);
  }
  return result;
}

void appendCodePoint(std::string& text, char32_t code) {
  const auto byte = [&](char32_t bits) { text += static_cast<char>(bits); };
  if (code < 0x80) {
    byte(code);
  } else if (code < 0x800) {
    byte(0xC0 | code >> 6);
    byte(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    byte(0xE0 | code >> 12);
    byte(0x80 | (code >> 6 & 0x3F));
    byte(0x80 | (code & 0x3F));
  } else {
    byte(0xF0 | code >> 18);
    byte(0x80 | (code >> 12 & 0x3F));
    byte(0x80 | (code >> 6 & 0x3F));
    byte(0x80 | (code & 0x3F));
  }
}

}  // namespace koord::cel
