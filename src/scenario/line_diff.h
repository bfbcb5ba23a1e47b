#pragma once

// Two texts side by side, line by line.

#include <string_view>
#include <vector>

namespace koord::scenario {

struct LinePair {
  std::string_view left;
  std::string_view right;
  char mark = ' ';  // ' ' equal, '<' only left, '>' only right, '|' changed
};

// Pairs the lines by their longest common subsequence; of long texts only the first 400 lines. The
// views point into the texts.
std::vector<LinePair> compareLines(std::string_view left, std::string_view right);

std::vector<std::string_view> linesOf(std::string_view text);

}  // namespace koord::scenario
