#include "cluster/screen/grid.h"

#include <algorithm>

#include "cluster/screen/columns.h"

namespace koord::cluster {

void appendUtf8(std::string& out, char32_t code) {
  const auto byte = [&](unsigned value) { out += static_cast<char>(value); };
  if (code < 0x80) {
    byte(code);
  } else if (code < 0x800) {
    byte(0xc0 | code >> 6);
    byte(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    byte(0xe0 | code >> 12);
    byte(0x80 | (code >> 6 & 0x3f));
    byte(0x80 | (code & 0x3f));
  } else {
    byte(0xf0 | code >> 18);
    byte(0x80 | (code >> 12 & 0x3f));
    byte(0x80 | (code >> 6 & 0x3f));
    byte(0x80 | (code & 0x3f));
  }
}

Grid::Grid(int rows, int columns)
    : rows_(std::max(rows, 0)),
      columns_(std::max(columns, 0)),
      cells_(static_cast<std::size_t>(rows_) * static_cast<std::size_t>(columns_)) {}

const Cell& Grid::at(int row, int column) const {
  return cells_[static_cast<std::size_t>(row) * static_cast<std::size_t>(columns_) +
                static_cast<std::size_t>(column)];
}

int Grid::put(int row, int column, std::string_view text, Style style, int most) {
  if (row < 0 || row >= rows_ || column < 0 || column >= columns_) return 0;
  const int room = std::min(most, columns_ - column);
  Cell* cell = &cells_[static_cast<std::size_t>(row) * static_cast<std::size_t>(columns_) +
                       static_cast<std::size_t>(column)];
  // The other halves of characters that are partly overwritten.
  if (cell->code == 0 && column > 0) cell[-1].code = U' ';
  int used = 0;
  while (!text.empty()) {
    const Glyph glyph = glyphAt(text);
    if (used + glyph.columns > room) break;
    cell[used] = {glyph.code, style};
    if (glyph.columns == 2) cell[used + 1] = {0, style};
    used += glyph.columns;
    text.remove_prefix(glyph.length);
  }
  if (column + used < columns_ && cell[used].code == 0) cell[used].code = U' ';
  return used;
}

void Grid::paint(int row, Style style, int column) {
  if (row < 0 || row >= rows_) return;
  for (int i = std::max(column, 0); i < columns_; ++i)
    cells_[static_cast<std::size_t>(row) * static_cast<std::size_t>(columns_) +
           static_cast<std::size_t>(i)]
        .style = style;
}

std::string Grid::text(int row) const {
  std::string out;
  for (int i = 0; i < columns_; ++i)
    if (const char32_t code = at(row, i).code; code != 0) appendUtf8(out, code);
  out.erase(out.find_last_not_of(' ') + 1);
  return out;
}

std::string Grid::text() const {
  std::string out;
  for (int row = 0; row < rows_; ++row) out += text(row) + "\n";
  return out;
}

}  // namespace koord::cluster
