#pragma once

// A screen as cells, the result of all drawing. A cell never holds a character that controls a
// terminal.

#include <climits>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/screen/style.h"

namespace koord::cluster {

void appendUtf8(std::string& text, char32_t code);

struct Cell {
  char32_t code = U' ';  // 0: the right half of the character before
  Style style = Style::Normal;
  bool operator==(const Cell&) const = default;
};

class Grid {
 public:
  Grid(int rows, int columns);

  int rows() const { return rows_; }
  int columns() const { return columns_; }
  const Cell& at(int row, int column) const;

  // Writes at most `most` columns of the text, and not beyond the edge. Returns the columns that
  // were written. Positions outside of the grid are ignored.
  int put(int row, int column, std::string_view text, Style style = Style::Normal,
          int most = INT_MAX);
  // Sets the style of the cells of a row, from `column` on.
  void paint(int row, Style style, int column = 0);
  // A row as UTF-8, without blanks at its end.
  std::string text(int row) const;
  // All rows, each with a line end.
  std::string text() const;

 private:
  int rows_;
  int columns_;
  std::vector<Cell> cells_;
};

}  // namespace koord::cluster
