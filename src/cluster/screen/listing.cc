#include "cluster/screen/listing.h"

#include <algorithm>
#include <ranges>

#include "cluster/screen/columns.h"

namespace koord::cluster {

namespace {

char lowerOf(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool containsWord(std::string_view text, std::string_view word) {
  if (word.size() > 1 && word.starts_with('='))
    return std::ranges::equal(text, word.substr(1), {}, lowerOf);
  return std::ranges::search(text, word, {}, lowerOf).begin() != text.end();
}

}  // namespace

void Listing::setRows(std::vector<Row> rows) {
  rows_ = std::move(rows);
  arranged_ = false;
  widths_.clear();
}

void Listing::setFilter(std::string filter) {
  words_.clear();
  std::string word;
  for (const char c : filter + " ") {
    if (c != ' ') {
      word += lowerOf(c);
    } else if (!word.empty()) {
      words_.push_back(std::exchange(word, {}));
    }
  }
  filter_ = std::move(filter);
  arranged_ = false;
}

void Listing::sortBy(int column, bool descending) {
  sort_ = column;
  descending_ = descending;
  arranged_ = false;
}

// Numbers rarely exceed the usual width of their column; only texts are measured.
const std::vector<int>& Listing::widths() {
  if (!widths_.empty() || columns_.empty()) return widths_;
  for (const auto& column : columns_)
    widths_.push_back(std::max(columnsIn(column.title) + 1, column.width));
  for (const auto& row : rows_)
    for (std::size_t i = 0; i < row.values.size() && i < widths_.size(); ++i)
      if (row.values[i].kind == Value::Kind::Text)
        widths_[i] = std::max(widths_[i], columnsIn(row.values[i].text));
  return widths_;
}

bool Listing::matches(const Row& row) const {
  return std::ranges::all_of(words_, [&](const std::string& word) {
    return std::ranges::any_of(row.values,
                               [&](const Value& value) { return containsWord(value.text, word); });
  });
}

void Listing::arrange() {
  if (arranged_) return;
  arranged_ = true;
  order_.clear();
  for (std::size_t i = 0; i < rows_.size(); ++i)
    if (matches(rows_[i])) order_.push_back(i);
  if (sort_ < 0 || static_cast<std::size_t>(sort_) >= columns_.size()) return;
  const auto column = static_cast<std::size_t>(sort_);
  std::ranges::stable_sort(order_, [&](std::size_t a, std::size_t b) {
    const Value& left = rows_[a].values[column];
    const Value& right = rows_[b].values[column];
    const int order = compare(left, right);
    // Unknown values stay at the end.
    return descending_ && left.known == right.known ? order > 0 : order < 0;
  });
}

std::size_t Listing::size() {
  arrange();
  return order_.size();
}

const Row& Listing::row(std::size_t index) {
  arrange();
  return rows_[order_[index]];
}

std::optional<std::size_t> Listing::find(const Subject& subject) {
  arrange();
  for (std::size_t i = 0; i < order_.size(); ++i)
    if (rows_[order_[i]].subject == subject) return i;
  return std::nullopt;
}

}  // namespace koord::cluster
