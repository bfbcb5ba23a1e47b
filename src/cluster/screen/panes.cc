#include "cluster/screen/panes.h"

#include <fmt/format.h>

#include <algorithm>

#include "cluster/screen/object_rows.h"

namespace koord::cluster {

namespace {

void dropCharacter(std::string& text) {
  while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0xc0) == 0x80) text.pop_back();
  if (!text.empty()) text.pop_back();
}

}  // namespace

Panes::Panes(int rows, int columns, std::string quitQuestion)
    : rows_(rows),
      columns_(columns),
      quitQuestion_(std::move(quitQuestion)),
      lists_{List(nodeColumns()), List(podColumns()), List(moveColumns()), List(quotaColumns()),
             List(eventColumns())} {}

void Panes::setRows(PaneKind pane, std::vector<Row> rows) {
  lists_[static_cast<std::size_t>(pane) - 1].rows.setRows(std::move(rows));
}

Panes::List* Panes::list() {
  if (pane_ == PaneKind::Overview || opened_ || help_) return nullptr;
  return &lists_[static_cast<std::size_t>(pane_) - 1];
}

std::size_t Panes::page() const {
  return static_cast<std::size_t>(std::max(body() - 1, 1));
}

// Keeps the selection on its object while rows come and go.
void Panes::follow(List& list) {
  const std::size_t size = list.rows.size();
  if (size == 0) {
    list.cursor = 0;
    return;
  }
  if (const auto found = list.rows.find(list.selected)) list.cursor = *found;
  moveTo(list, list.cursor);
}

void Panes::moveTo(List& list, std::size_t row) {
  const std::size_t size = list.rows.size();
  if (size == 0) return;
  list.cursor = std::min(row, size - 1);
  list.selected = list.rows.row(list.cursor).subject;
}

void Panes::scroll(std::ptrdiff_t rows) {
  if (List* one = list()) {
    follow(*one);
    const auto to = static_cast<std::ptrdiff_t>(one->cursor) + rows;
    moveTo(*one, static_cast<std::size_t>(std::max<std::ptrdiff_t>(to, 0)));
  } else {
    const auto last = static_cast<std::ptrdiff_t>(lines_) - body();
    const auto to = static_cast<std::ptrdiff_t>(line_) + rows;
    line_ = static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(to, 0, std::max(last, 0L)));
  }
}

void Panes::sideways(int columns) {
  List* one = list();
  if (!one) return;
  const auto last = static_cast<int>(one->rows.columns().size()) - 1;
  one->firstColumn =
      static_cast<std::size_t>(std::clamp(static_cast<int>(one->firstColumn) + columns, 1, last));
}

// Selects the row that comes first.
void Panes::sortBy(List& list, int column, bool descending) {
  list.rows.sortBy(column, descending);
  moveTo(list, 0);
}

void Panes::sortNext(int step) {
  List* one = list();
  if (!one) return;
  const int count = static_cast<int>(one->rows.columns().size());
  // As given, then by each column.
  const int next = (one->rows.sortColumn() + 1 + step + count + 1) % (count + 1) - 1;
  if (next == Listing::kAsGiven) {
    sortBy(*one, next, false);
    message_ = "in the original order";
    return;
  }
  // The largest amount comes first, but the youngest age.
  const Column& column = one->rows.columns()[static_cast<std::size_t>(next)];
  sortBy(*one, next, column.kind == Column::Kind::Amount);
  message_ = fmt::format("sorted by {}; r reverses", column.title);
}

Wish Panes::show(PaneKind pane) {
  pane_ = pane;
  opened_.reset();
  details_.clear();
  help_ = false;
  line_ = 0;
  return Wish::Refresh;
}

Wish Panes::open() {
  List* one = list();
  if (!one || one->rows.size() == 0) return Wish::None;
  follow(*one);
  opened_ = one->selected;
  details_.clear();
  line_ = 0;
  return Wish::Refresh;
}

Wish Panes::back() {
  List* one = list();
  if (one && !one->rows.filter().empty()) {
    one->rows.setFilter("");
    return Wish::None;
  }
  const bool was = opened_.has_value() && !help_;
  if (!help_) opened_.reset();
  help_ = false;
  line_ = 0;
  return was ? Wish::Refresh : Wish::None;
}

// The pods of the selected node.
Wish Panes::podsOfNode() {
  std::string node;
  if (opened_ && opened_->kind == Subject::Kind::Node) {
    node = opened_->name;
  } else if (List* one = list(); one && pane_ == PaneKind::Nodes && one->rows.size() > 0) {
    follow(*one);
    node = one->selected.name;
  }
  if (node.empty()) return Wish::None;
  lists_[static_cast<std::size_t>(PaneKind::Pods) - 1].rows.setFilter("=" + node);
  return show(PaneKind::Pods);
}

// While the filter is typed.
Wish Panes::typed(const Key& key) {
  List* one = list();
  if (!one) {
    typing_ = false;
    return Wish::None;
  }
  std::string filter = one->rows.filter();
  switch (key.code) {
    case Key::Code::Character:
      if (key.character >= 0x20 && filter.size() < 200) appendUtf8(filter, key.character);
      break;
    case Key::Code::Backspace:
      if (filter.empty()) typing_ = false;
      dropCharacter(filter);
      break;
    case Key::Code::Escape:
      typing_ = false;
      filter.clear();
      break;
    default:
      typing_ = false;
      return key.code == Key::Code::Enter ? Wish::None : handle(key);
  }
  one->rows.setFilter(std::move(filter));
  return Wish::None;
}

Wish Panes::command(char32_t character) {
  if (character >= '1' && character < '1' + kPanes)
    return show(static_cast<PaneKind>(character - '1'));
  switch (character) {
    case 'q':
      if (opened_ || help_) return back();
      quitting_ = !quitQuestion_.empty();
      return quitting_ ? Wish::None : Wish::Quit;
    case '?':
      help_ = !help_;
      line_ = 0;
      return Wish::None;
    case '/':
      typing_ = list() != nullptr;
      if (!typing_) message_ = "/ filters lists: keys 2 to 6";
      return Wish::None;
    case 's':
    case 'S':
      sortNext(character == 's' ? 1 : -1);
      return Wish::None;
    case 'r':
      if (List* one = list()) sortBy(*one, one->rows.sortColumn(), !one->rows.isDescending());
      return Wish::None;
    case 'p':
      return podsOfNode();
    case 'j':
      scroll(1);
      return Wish::None;
    case 'k':
      scroll(-1);
      return Wish::None;
    case 'h':
    case 'l':
      sideways(character == 'l' ? 1 : -1);
      return Wish::None;
    case ' ':
      scroll(static_cast<std::ptrdiff_t>(page()));
      return Wish::None;
    case 'g':
    case 'G':
      scroll(character == 'G' ? PTRDIFF_MAX / 2 : -(PTRDIFF_MAX / 2));
      return Wish::None;
    default:
      return Wish::None;
  }
}

Wish Panes::handle(const Key& key) {
  using Code = Key::Code;
  if (key.code == Code::Closed) return Wish::Quit;
  if (key.code == Code::Resize) {
    rows_ = key.rows;
    columns_ = key.columns;
    return Wish::None;
  }
  message_.clear();
  if (quitting_) {
    quitting_ = false;
    return key.code == Code::Character && key.character == 'q' ? Wish::Quit : Wish::None;
  }
  if (typing_) return typed(key);
  const auto onePage = static_cast<std::ptrdiff_t>(page());
  const auto next = [&](std::size_t step) {
    return show(static_cast<PaneKind>((static_cast<std::size_t>(pane_) + step) % kPanes));
  };
  switch (key.code) {
    case Code::Character:
      return command(key.character);
    case Code::Up:
      scroll(-1);
      break;
    case Code::Down:
      scroll(1);
      break;
    case Code::PageUp:
      scroll(-onePage);
      break;
    case Code::PageDown:
      scroll(onePage);
      break;
    case Code::Home:
      scroll(-(PTRDIFF_MAX / 2));
      break;
    case Code::End:
      scroll(PTRDIFF_MAX / 2);
      break;
    case Code::Left:
    case Code::Right:
      sideways(key.code == Code::Right ? 1 : -1);
      break;
    case Code::Tab:
      return next(1);
    case Code::BackTab:
      return next(kPanes - 1);
    case Code::Enter:
      return open();
    case Code::Escape:
    case Code::Backspace:
      return back();
    default:
      break;
  }
  return Wish::None;
}

}  // namespace koord::cluster
