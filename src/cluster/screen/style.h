#pragma once

// How text looks, by its meaning; the terminal chooses colours.

#include <string>
#include <vector>

namespace koord::cluster {

enum class Style : unsigned char { Normal, Strong, Dim, Good, Warning, Bad, Selected, Bar };

struct TextLine {
  std::string text;
  Style style = Style::Normal;
};
// A text that is longer than a screen; the view breaks its lines and scrolls.
using Document = std::vector<TextLine>;

}  // namespace koord::cluster
