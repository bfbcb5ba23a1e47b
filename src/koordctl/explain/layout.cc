#include "koordctl/explain/layout.h"

#include <algorithm>
#include <ranges>

#include "base/utf8.h"
#include "cluster/screen/text_table.h"

namespace koord::koordctl {

namespace {

const json::array& arrayIn(const json::value& value) {
  static const json::array kNone;
  return value.is_array() ? value.get_array() : kNone;
}

}  // namespace

const json::array& arrayAt(const json::value& value, std::string_view key) {
  return arrayIn(memberOf(value, key));
}

const json::array& arrayAt(const json::object& object, std::string_view key) {
  return arrayIn(memberOf(object, key));
}

std::int64_t countAt(const json::value& value, std::string_view key) {
  const auto* found = at(value, key);
  return found ? wholeNumber(*found).value_or(0) : 0;
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
  std::size_t count = 0;
  for (const auto& row : rows) count = std::max(count, row.size());
  if (count == 0) return;
  std::vector<cluster::TextColumn> columns(count);
  for (std::size_t i = 0; i < rows.front().size(); ++i) columns[i].title = rows.front()[i];
  cluster::TextTable table(std::move(columns));
  for (const auto& row : rows | std::views::drop(1)) table.add(row);
  for (const auto& line : table.lines(0)) out += (line.empty() ? "" : "  " + line) + "\n";
}

void addParagraph(std::string& out, std::string_view first, std::string_view text) {
  std::string line(first);
  const std::string indent(charactersIn(first), ' ');
  bool blank = true;  // no word on this line yet
  while (!text.empty()) {
    const auto begin = text.find_first_not_of(" \n");
    if (begin == std::string_view::npos) break;
    text.remove_prefix(begin);
    const std::string_view word = text.substr(0, text.find_first_of(" \n"));
    text.remove_prefix(word.size());
    if (!blank && charactersIn(line) + 1 + charactersIn(word) > kWidth) {
      out += line + "\n";
      line = indent;
      blank = true;
    }
    if (!blank) line += ' ';
    line += word;
    blank = false;
  }
  while (line.ends_with(' ')) line.pop_back();
  out += line + "\n";
}

}  // namespace koord::koordctl
