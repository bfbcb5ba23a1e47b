#pragma once

// What the user sees, and how keys change it. Knows neither the terminal nor the cluster: rows come
// in, keys come in, a grid comes out.

#include <array>
#include <optional>
#include <string>

#include "cluster/screen/details.h"
#include "cluster/screen/grid.h"
#include "cluster/screen/listing.h"
#include "cluster/screen/status.h"

namespace koord::cluster {

struct Key {
  enum class Code {
    Character,
    Up,
    Down,
    Left,
    Right,
    PageUp,
    PageDown,
    Home,
    End,
    Enter,
    Escape,
    Backspace,
    Tab,
    BackTab,
    Resize,  // the terminal has `rows` and `columns` now
    Closed,  // the terminal is gone
  };
  Code code = Code::Character;
  char32_t character = 0;
  int rows = 0;
  int columns = 0;
};

enum class PaneKind { Overview, Nodes, Pods, Moves, Quotas, Events };
inline constexpr std::size_t kPanes = 6;

// What the owner must do after a key.
enum class Wish {
  None,
  Quit,
  Refresh,  // another pane, or details: its content is not up to date
};

class Panes {
 public:
  // quitQuestion: asked before q has an effect; "" = q quits at once.
  Panes(int rows, int columns, std::string quitQuestion);

  // The content: the overview and the bar; the rows of a list; the details of opened().
  void setStatus(ClusterStatus status) { status_ = std::move(status); }
  void setRows(PaneKind pane, std::vector<Row> rows);
  void setDetails(Document details) { details_ = std::move(details); }

  PaneKind pane() const { return pane_; }
  // The object whose details are shown.
  const std::optional<Subject>& opened() const { return opened_; }

  Wish handle(const Key& key);
  // Moves the visible part so that the selected row is in it.
  Grid draw(WallTime now);

 private:
  struct List {
    explicit List(const std::vector<Column>& columns) : rows(columns) {}
    Listing rows;
    Subject selected;
    std::size_t cursor = 0;  // the row of `selected`, or where it was
    std::size_t top = 0;
    std::size_t firstColumn = 1;  // beside the first, which is always visible
  };
  List* list();  // of the visible pane; nullptr if it shows a document
  int body() const { return rows_ - 2; }
  std::size_t page() const;

  Wish typed(const Key& key);
  Wish command(char32_t character);
  Wish show(PaneKind pane);
  Wish open();
  Wish back();
  void scroll(std::ptrdiff_t rows);
  void moveTo(List& list, std::size_t row);
  void follow(List& list);
  void sideways(int columns);
  void sortBy(List& list, int column, bool descending);
  void sortNext(int step);
  Wish podsOfNode();

  void drawBar(Grid& grid) const;
  void drawFooter(Grid& grid);
  void drawDocument(Grid& grid, const Document& document, int top);
  void drawList(Grid& grid, List& list, WallTime now);
  std::vector<int> widthsOf(List& list, WallTime now);
  int firstWidth(List& list) const;
  std::string hint();

  int rows_;
  int columns_;
  const std::string quitQuestion_;
  ClusterStatus status_;
  std::array<List, kPanes - 1> lists_;
  PaneKind pane_ = PaneKind::Overview;
  std::optional<Subject> opened_;
  Document details_;
  bool help_ = false;
  bool typing_ = false;    // the filter
  bool quitting_ = false;  // the question is asked
  std::string message_;    // until the next key
  std::size_t line_ = 0;   // the first visible line of a document
  std::size_t lines_ = 0;  // of the document that was drawn last
};

}  // namespace koord::cluster
