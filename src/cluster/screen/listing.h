#pragma once

// The rows of a pane, filtered and sorted. Rows are arranged again only after a change.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/screen/row.h"

namespace koord::cluster {

class Listing {
 public:
  static constexpr int kAsGiven = -1;

  explicit Listing(std::vector<Column> columns) : columns_(std::move(columns)) {}

  const std::vector<Column>& columns() const { return columns_; }
  // The columns of the widest value of each column, at least that of its title.
  const std::vector<int>& widths();

  void setRows(std::vector<Row> rows);
  // Words that a row must contain, in any column of text, in upper or lower case; "" = all rows.
  // "=word": a column has this word and nothing else.
  void setFilter(std::string filter);
  const std::string& filter() const { return filter_; }
  // By a column, or kAsGiven. Rows with equal values keep their order.
  void sortBy(int column, bool descending);
  int sortColumn() const { return sort_; }
  bool isDescending() const { return descending_; }

  std::size_t total() const { return rows_.size(); }  // without the filter
  std::size_t size();
  const Row& row(std::size_t index);
  // Where the row about the subject is; nullopt if the filter hides it or it is gone.
  std::optional<std::size_t> find(const Subject& subject);

 private:
  void arrange();
  bool matches(const Row& row) const;

  std::vector<Column> columns_;
  std::vector<Row> rows_;
  std::vector<int> widths_;
  std::string filter_;
  std::vector<std::string> words_;  // of the filter, in lower case
  int sort_ = kAsGiven;
  bool descending_ = false;
  bool arranged_ = true;
  std::vector<std::size_t> order_;
};

}  // namespace koord::cluster
