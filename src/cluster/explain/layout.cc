#include "cluster/explain/layout.h"

#include <fmt/format.h>

#include <algorithm>

namespace koord::cluster {

const json::array& arrayAt(const json::value& value, std::string_view key) {
  static const json::array none;
  const auto* found = at(value, key);
  return found && found->is_array() ? found->get_array() : none;
}

std::string scalar(const json::value* value) {
  if (!value || value->is_null()) return {};
  return value->is_string() ? std::string(value->get_string()) : toJson(*value);
}

std::string joined(const json::array& values, std::size_t limit) {
  std::string text;
  for (std::size_t i = 0; i < std::min(values.size(), limit); ++i)
    text += (text.empty() ? "" : ", ") + scalar(&values[i]);
  return values.size() > limit ? text + ", ..." : text;
}

void addTable(std::string& out, const std::vector<Row>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (widths.size() <= i) widths.push_back(0);
      widths[i] = std::max(widths[i], row[i].size());
    }
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i)
      line += i + 1 == row.size() ? row[i] : fmt::format("{:<{}}  ", row[i], widths[i]);
    line.insert(0, "  ");
    while (line.ends_with(' ')) line.pop_back();
    out += line + "\n";
  }
}

void addParagraph(std::string& out, std::string_view first, std::string_view text) {
  std::string line(first);
  bool blank = true;  // no word on this line yet
  while (!text.empty()) {
    const auto begin = text.find_first_not_of(" \n");
    if (begin == std::string_view::npos) break;
    text.remove_prefix(begin);
    const std::string_view word = text.substr(0, text.find_first_of(" \n"));
    text.remove_prefix(word.size());
    if (!blank && line.size() + 1 + word.size() > kWidth) {
      out += line + "\n";
      line.assign(first.size(), ' ');
      blank = true;
    }
    if (!blank) line += ' ';
    line += word;
    blank = false;
  }
  while (line.ends_with(' ')) line.pop_back();
  out += line + "\n";
}

}  // namespace koord::cluster
