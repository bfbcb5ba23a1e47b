#include "cluster/screen/text_table.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "cluster/screen/columns.h"

namespace koord::cluster {

namespace {

constexpr std::size_t kGap = 2;
constexpr std::size_t kMinElasticWidth = 20;  // elastic columns are cut to this before others go
constexpr std::size_t kMinElastic = 6;        // and to this when none can be dropped

std::size_t widthOf(std::string_view text) {
  return static_cast<std::size_t>(columnsIn(text));
}

std::string padded(const std::string& text, std::size_t width, bool right) {
  const std::size_t length = widthOf(text);
  const std::string space(width > length ? width - length : 0, ' ');
  return right ? space + text : text + space;
}

std::size_t totalOf(const std::vector<std::size_t>& columns,
                    const std::vector<std::size_t>& widths) {
  std::size_t total = columns.empty() ? 0 : kGap * (columns.size() - 1);
  for (const std::size_t column : columns) total += widths[column];
  return total;
}

}  // namespace

std::string ellipsized(std::string text, int width) {
  if (width <= 0 || columnsIn(text) <= width) return text;
  return std::string(fitting(text, width - 1)) + "…";
}

std::vector<std::string> wrapped(const std::string& text, int width, int indent) {
  if (width <= 0) return {text};
  const std::string lead(static_cast<std::size_t>(std::min(indent, width / 2)), ' ');
  std::vector<std::string> lines;
  std::string line;
  const auto full = [&](std::string next) {
    lines.push_back(std::exchange(line, std::move(next)));
  };
  for (std::size_t at = 0; at < text.size();) {
    // A word with the preceding spaces.
    const std::size_t word = std::min(text.find_first_not_of(' ', at), text.size());
    const std::size_t end = std::min(text.find(' ', word), text.size());
    const bool fits =
        columnsIn(line) + columnsIn(std::string_view(text).substr(at, end - at)) <= width;
    if (fits || line.empty()) {
      line += text.substr(at, end - at);
    } else {
      full(lead + text.substr(word, end - word));
    }
    at = end;
    if (columnsIn(line) <= width) continue;
    // A word that is longer than a line.
    const std::string whole = std::exchange(line, {});
    std::string_view rest = whole;
    while (!rest.empty()) {
      if (!line.empty()) full(lead);
      const std::size_t part = fitting(rest, width - columnsIn(line)).size();
      const std::size_t taken = std::max(part, glyphAt(rest).length);
      line += rest.substr(0, taken);
      rest.remove_prefix(taken);
    }
  }
  lines.push_back(std::move(line));
  return lines;
}

std::vector<std::size_t> TextTable::shown(int width, std::vector<std::size_t>& widths) const {
  std::vector<std::size_t> columns(columns_.size());
  std::iota(columns.begin(), columns.end(), std::size_t{0});
  if (width <= 0) return columns;
  const auto limit = static_cast<std::size_t>(width);
  const auto wanted = widths;
  const auto resize = [&](std::size_t least) {
    for (const std::size_t column : columns) {
      if (!columns_[column].elastic) continue;
      const std::size_t others = totalOf(columns, widths) - widths[column];
      const std::size_t room = limit > others ? limit - others : 0;
      widths[column] = std::min(wanted[column], std::max(room, least));
    }
  };
  resize(kMinElasticWidth);
  while (totalOf(columns, widths) > limit) {
    const auto next = std::ranges::max_element(
        columns, {}, [&](std::size_t column) { return columns_[column].drop; });
    if (columns_[*next].drop == 0) break;
    columns.erase(next);
  }
  resize(kMinElastic);
  return columns;
}

std::vector<std::string> TextTable::lines(int width) const {
  std::vector<std::size_t> widths;
  for (const auto& column : columns_) widths.push_back(widthOf(column.title));
  for (const auto& row : rows_)
    for (std::size_t i = 0; i < row.size() && i < widths.size(); ++i)
      widths[i] = std::max(widths[i], widthOf(row[i]));
  const auto columns = shown(width, widths);
  const auto render = [&](const auto& cellOf) {
    std::string line;
    for (const std::size_t column : columns) {
      if (column != columns.front()) line.append(kGap, ' ');
      line += padded(ellipsized(cellOf(column), static_cast<int>(widths[column])), widths[column],
                     columns_[column].right);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    return ellipsized(std::move(line), width);
  };
  std::vector<std::string> lines;
  lines.push_back(render([&](std::size_t column) { return columns_[column].title; }));
  for (const auto& row : rows_)
    lines.push_back(render(
        [&](std::size_t column) { return column < row.size() ? row[column] : std::string(); }));
  return lines;
}

}  // namespace koord::cluster
