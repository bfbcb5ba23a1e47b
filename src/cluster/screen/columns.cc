#include "cluster/screen/columns.h"

#include <clocale>
#include <cwchar>

#include "base/utf8.h"

namespace koord::cluster {

namespace {

// wcwidth() knows characters beyond ASCII in a UTF-8 locale only, whatever the user's is.
int widthIn(char32_t code) {
  static const locale_t utf8 = ::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  if (!utf8) return -1;
  const locale_t before = ::uselocale(utf8);
  const int width = ::wcwidth(static_cast<wchar_t>(code));
  ::uselocale(before);
  return width;
}

}  // namespace

Glyph glyphAt(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  if (first >= 0x20 && first < 0x7f) return {first, 1, 1};
  if (first < 0x80) return {first == '\t' || first == '\n' ? U' ' : U'?', 1, 1};
  const Utf8Character character = utf8CharacterAt(text);
  if (character.length == 0) return {U'\uFFFD', 1, 1};
  const int width = widthIn(character.code);
  if (width < 1) return {U'?', 1, character.length};
  return {character.code, width, character.length};
}

int columnsIn(std::string_view text) {
  int columns = 0;
  while (!text.empty()) {
    const Glyph glyph = glyphAt(text);
    columns += glyph.columns;
    text.remove_prefix(glyph.length);
  }
  return columns;
}

std::string_view fitting(std::string_view text, int columns) {
  std::size_t end = 0;
  while (end < text.size()) {
    const Glyph glyph = glyphAt(text.substr(end));
    if (glyph.columns > columns) break;
    columns -= glyph.columns;
    end += glyph.length;
  }
  return text.substr(0, end);
}

}  // namespace koord::cluster
