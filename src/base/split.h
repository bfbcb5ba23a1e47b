#pragma once

// Splits texts at a character and trims them.

#include <string>
#include <string_view>
#include <vector>

namespace koord {

// Every part, including empty parts; "" is one empty part. Valid as long as the text is.
inline std::vector<std::string_view> splitAll(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const auto end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == text.npos) return parts;
    text.remove_prefix(end + 1);
  }
}

// The parts that are not empty: "/a//b" at '/' is "a" and "b".
inline std::vector<std::string> splitWords(std::string_view text, char separator) {
  std::vector<std::string> words;
  for (const auto part : splitAll(text, separator))
    if (!part.empty()) words.emplace_back(part);
  return words;
}

// The text without blanks and line ends, or other characters, at both ends.
inline std::string_view trim(std::string_view text, std::string_view characters = " \t\r\n") {
  const auto first = text.find_first_not_of(characters);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(characters) - first + 1);
}

}  // namespace koord
