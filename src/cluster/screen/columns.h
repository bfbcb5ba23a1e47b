#pragma once

// How many columns of a terminal a text takes. Ideographs and most emojis take two. Characters that
// a terminal must not receive from strangers (controls, marks that change the direction of text or
// combine with others) and invalid bytes take one, since "?" replaces them.

#include <string_view>

namespace koord::cluster {

struct Glyph {
  char32_t code = U'?';    // what is shown
  int columns = 1;         // 1 or 2
  std::size_t length = 1;  // bytes in the text
};
// The text must not be empty.
Glyph glyphAt(std::string_view text);

int columnsIn(std::string_view text);
// The beginning of the text that fits, without a partial character.
std::string_view fitting(std::string_view text, int columns);

}  // namespace koord::cluster
