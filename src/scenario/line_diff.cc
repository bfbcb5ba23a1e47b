#include "scenario/line_diff.h"

#include <algorithm>

namespace koord::scenario {
namespace {

// Lengths of the longest common subsequences of the lines' tails.
std::vector<std::vector<int>> commonTails(const std::vector<std::string_view>& a,
                                          const std::vector<std::string_view>& b) {
  std::vector<std::vector<int>> table(a.size() + 1, std::vector<int>(b.size() + 1, 0));
  for (std::size_t i = a.size(); i-- > 0;) {
    for (std::size_t j = b.size(); j-- > 0;) {
      table[i][j] =
          a[i] == b[j] ? table[i + 1][j + 1] + 1 : std::max(table[i + 1][j], table[i][j + 1]);
    }
  }
  return table;
}

}  // namespace

std::vector<std::string_view> linesOf(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const auto newline = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, newline));
    text.remove_prefix(std::min(newline + 1, text.size()));
  }
  return lines;
}

std::vector<LinePair> compareLines(std::string_view left, std::string_view right) {
  constexpr std::size_t kMaxLines = 400;
  auto a = linesOf(left);
  auto b = linesOf(right);
  a.resize(std::min(a.size(), kMaxLines));
  b.resize(std::min(b.size(), kMaxLines));
  std::vector<LinePair> pairs;
  const auto table = commonTails(a, b);
  std::size_t i = 0, j = 0;
  while (i < a.size() || j < b.size()) {
    if (i < a.size() && j < b.size() && a[i] == b[j]) {
      pairs.push_back({a[i++], b[j++], ' '});
    } else if (i < a.size() && j < b.size() && table[i + 1][j + 1] == table[i][j]) {
      pairs.push_back({a[i++], b[j++], '|'});
    } else if (j == b.size() || (i < a.size() && table[i + 1][j] >= table[i][j + 1])) {
      pairs.push_back({a[i++], "", '<'});
    } else {
      pairs.push_back({"", b[j++], '>'});
    }
  }
  return pairs;
}

}  // namespace koord::scenario
