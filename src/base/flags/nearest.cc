#include "base/flags/nearest.h"

#include <algorithm>

namespace koord::flags {

namespace {

// The number of letters to insert, delete, replace or exchange with a neighbour ("optimal string
// alignment"). Costs the product of the lengths.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> table(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        table[i][j] = i + j;
        continue;
      }
      const std::size_t replaced = table[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      table[i][j] = std::min({table[i - 1][j] + 1, table[i][j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        table[i][j] = std::min(table[i][j], table[i - 2][j - 2] + 1);
    }
  }
  return table[a.size()][b.size()];
}

}  // namespace

std::string nearestName(std::string_view wrong, const std::vector<std::string>& names) {
  constexpr std::size_t kLongest = 64;  // of a name; a longer word is none
  if (wrong.empty() || wrong.size() > kLongest) return {};
  std::size_t least = wrong.size() > 5 ? 3 : 2;  // more than allowed
  std::string nearest;
  for (const auto& name : names) {
    const std::size_t changes = name.starts_with(wrong) ? 1 : distance(wrong, name);
    if (changes >= least) continue;
    least = changes;
    nearest = name;
  }
  return nearest;
}

}  // namespace koord::flags
