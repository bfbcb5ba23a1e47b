#include <fmt/format.h>

#include <algorithm>

#include "cluster/screen/columns.h"
#include "cluster/screen/overview.h"
#include "cluster/screen/panes.h"
#include "cluster/screen/text_table.h"

namespace koord::cluster {

namespace {

constexpr int kColumnGap = 2;
constexpr int kLeastColumn = 8;  // narrower parts of a column say nothing
constexpr const char* kPaneNames[kPanes] = {"overview", "nodes",  "pods",
                                            "moves",    "quotas", "events"};

Document helpText() {
  return documentOf(
      "KEYS\n"
      "1 to 6, Tab     the panes\n"
      "arrows, j k     up and down; PgUp, PgDn, Space by pages; Home, End, g G\n"
      "left, right     columns beyond the edge (h l)\n"
      "Enter           all about the row: a node's NUMA zones, CPUs by owner, GPUs and what "
      "koordlet "
      "does and why; why a pod is where it is, or waits\n"
      "Esc             back; ends a filter\n"
      "/               shows only rows with these words, in any column of text; =word: nothing "
      "else is in "
      "the column\n"
      "s, S            sort by the next column, by the one before\n"
      "r               the other direction\n"
      "p               the pods of the selected node\n"
      "q               ends it; goes back from here and from details\n"
      "\n"
      "COLUMNS\n"
      "DATA            how old the reported usage is\n"
      "AGE             how old the object is\n"
      "LAST            the time since the last change or event\n"
      "USED/CORES      use of the node's CPUs, as koordlet reports it\n"
      "BATCH-CPU       requested by batch pods / offered to them\n"
      "BE-CPU, BE      use of BE pods, their number; LS: other running pods\n");
}

}  // namespace

void Panes::drawBar(Grid& grid) const {
  grid.paint(0, Style::Bar);
  int column = 0;
  for (std::size_t i = 0; i < kPanes; ++i) {
    const bool active = i == static_cast<std::size_t>(pane_);
    column += grid.put(0, column, fmt::format(" {} {}", i + 1, kPaneNames[i]),
                       active ? Style::Strong : Style::Bar);
  }
  std::size_t ready = 0;
  for (const auto& node : status_.nodes) ready += node.ready ? 1 : 0;
  std::string summary = fmt::format("nodes {}/{} ready", ready, status_.nodes.size());
  if (!status_.pods.empty()) summary += "  pods";
  for (const auto& [phase, count] : status_.pods) summary += fmt::format(" {} {}", count, phase);
  summary += " ";
  const int start = columns_ - columnsIn(summary);
  if (start > column + 1) grid.put(0, start, summary, Style::Bar);
}

std::string Panes::hint() {
  if (quitting_) return quitQuestion_;
  List* one = list();
  if (typing_ && one)
    return fmt::format("/{}_  {} of {}; Enter keeps the filter, Esc ends it", one->rows.filter(),
                       one->rows.size(), one->rows.total());
  if (!message_.empty()) return message_;
  if (help_ || opened_) return "Esc back  arrows scroll  1-6 panes";
  const std::string quit = quitQuestion_.empty() ? "q quit" : "q stop";
  if (!one) return "2 nodes  3 pods  ...  arrows scroll  ? keys  " + quit;
  std::string text;
  if (!one->rows.filter().empty()) {
    text = fmt::format("filter \"{}\": {} of {}  Esc all  ", one->rows.filter(), one->rows.size(),
                       one->rows.total());
  } else if (one->rows.size() > 0) {
    // A name that is too long for its column.
    const std::string& name = one->rows.row(one->cursor).values[0].text;
    if (columnsIn(name) > firstWidth(*one)) text = name + "  ";
  }
  return text + "Enter details  / filter  s sort  ? keys  " + quit;
}

// The first column leaves room for others.
int Panes::firstWidth(List& list) const {
  return std::min(list.rows.widths()[0], std::max(columns_ * 2 / 5, 20));
}

void Panes::drawFooter(Grid& grid) {
  const int row = rows_ - 1;
  const bool question = quitting_ || typing_ || !message_.empty();
  grid.put(row, 0, hint(), question ? Style::Strong : Style::Dim);
  std::string where;
  if (List* one = list()) {
    if (one->rows.size() > 0) where = fmt::format("{}/{}", one->cursor + 1, one->rows.size());
  } else if (lines_ > static_cast<std::size_t>(std::max(body(), 1))) {
    where = fmt::format("{}-{}/{}", line_ + 1,
                        std::min(line_ + static_cast<std::size_t>(body()), lines_), lines_);
  }
  if (where.empty() || quitting_) return;
  where = "  " + where;
  grid.put(row, columns_ - columnsIn(where), where, Style::Dim);
}

// Below `top` rows that do not scroll.
void Panes::drawDocument(Grid& grid, const Document& document, int top) {
  std::vector<TextLine> lines;
  for (const auto& line : document) {
    // Continuations are indented by two more than the line.
    const auto indent = std::min(line.text.find_first_not_of(' '), std::size_t{40});
    for (auto& part : wrapped(line.text, columns_, static_cast<int>(indent) + 2))
      lines.push_back({std::move(part), line.style});
  }
  lines_ = lines.size() + static_cast<std::size_t>(top);
  const auto last = static_cast<std::ptrdiff_t>(lines_) - body();
  line_ = std::min(line_, static_cast<std::size_t>(std::max(last, 0L)));
  for (int row = top; row < body(); ++row) {
    const std::size_t index = line_ + static_cast<std::size_t>(row - top);
    if (index >= lines.size()) break;
    grid.put(row + 1, 0, lines[index].text, lines[index].style);
  }
}

// Numbers that are visible now may be wider than usual.
std::vector<int> Panes::widthsOf(List& list, WallTime now) {
  std::vector<int> widths = list.rows.widths();
  const std::size_t end = std::min(list.top + page(), list.rows.size());
  for (std::size_t i = list.top; i < end; ++i) {
    const Row& row = list.rows.row(i);
    for (std::size_t c = 0; c < widths.size() && c < row.values.size(); ++c)
      if (row.values[c].kind != Value::Kind::Text)
        widths[c] = std::max(widths[c], columnsIn(textOf(row.values[c], now)));
  }
  widths[0] = firstWidth(list);
  return widths;
}

void Panes::drawList(Grid& grid, List& list, WallTime now) {
  follow(list);
  const std::size_t rows = page();
  const std::size_t size = list.rows.size();
  list.top = std::min(list.top, size > rows ? size - rows : 0);
  if (list.cursor < list.top) list.top = list.cursor;
  if (list.cursor >= list.top + rows) list.top = list.cursor - rows + 1;

  const auto& columns = list.rows.columns();
  const std::vector<int> widths = widthsOf(list, now);
  const auto drawRow = [&](int row, const auto& cellOf, Style style) {
    int at = 0;
    for (std::size_t c = 0; c < columns.size(); c == 0 ? c = list.firstColumn : ++c) {
      const std::string text = cellOf(c);
      const int room = std::min(widths[c], columns_ - at);
      if (room < std::min(widths[c], kLeastColumn)) return true;
      const int wide = columnsIn(text);
      if (wide > room) {
        grid.put(row, at, ellipsized(text, room), style, room);
      } else {
        grid.put(row, columns[c].isRight() ? at + room - wide : at, text, style, room);
      }
      if (at + widths[c] > columns_) return true;
      at += widths[c] + kColumnGap;
    }
    return false;
  };
  const auto titleAt = [&](std::size_t c) {
    if (static_cast<int>(c) != list.rows.sortColumn()) return columns[c].title;
    return columns[c].title + (list.rows.isDescending() ? "↓" : "↑");
  };
  const bool beyond = drawRow(1, titleAt, Style::Strong);
  grid.paint(1, Style::Strong);
  if (list.firstColumn > 1) grid.put(1, std::min(widths[0], columns_), "<", Style::Warning);
  if (beyond) grid.put(1, columns_ - 1, ">", Style::Warning);
  for (std::size_t i = list.top; i < std::min(list.top + rows, size); ++i) {
    const Row& one = list.rows.row(i);
    const int row = static_cast<int>(i - list.top) + 2;
    const Style style = i == list.cursor ? Style::Selected : one.style;
    if (i == list.cursor) grid.paint(row, style);
    drawRow(row, [&](std::size_t c) { return textOf(one.values[c], now); }, style);
  }
  if (size == 0)
    grid.put(2, 0, list.rows.total() == 0 ? "none" : "no row has these words", Style::Dim);
}

Grid Panes::draw(WallTime now) {
  Grid grid(rows_, columns_);
  if (rows_ < 3 || columns_ < 10) return grid;
  if (help_) {
    drawDocument(grid, helpText(), 0);
  } else if (opened_) {
    grid.put(1, 0, titleOf(*opened_), Style::Strong);
    drawDocument(grid, details_, 1);
  } else if (List* one = list()) {
    drawList(grid, *one, now);
  } else {
    drawDocument(grid, overviewOf(status_, columns_, body()), 0);
  }
  drawBar(grid);
  drawFooter(grid);
  return grid;
}

}  // namespace koord::cluster
