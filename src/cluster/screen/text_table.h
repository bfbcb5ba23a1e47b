#pragma once

// Text for a screen of a given width: tables that drop their least important columns until they
// fit, long words cut with an ellipsis, wrapped sentences. Widths are columns of a terminal.

#include <string>
#include <string_view>
#include <vector>

namespace koord::cluster {

struct TextColumn {
  std::string title;
  bool right = false;    // numbers
  int drop = 0;          // the highest number is dropped first; 0 is never dropped
  bool elastic = false;  // its cells may be cut if dropping is not enough
};

class TextTable {
 public:
  explicit TextTable(std::vector<TextColumn> columns) : columns_(std::move(columns)) {}

  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  // The titles, then a line for each row; none longer than `width`, 0 = no limit.
  std::vector<std::string> lines(int width) const;

 private:
  std::vector<std::size_t> shown(int width, std::vector<std::size_t>& widths) const;

  std::vector<TextColumn> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// At most `width` columns; the last character is … if text was cut; 0 = no limit.
std::string ellipsized(std::string text, int width);
// Lines of at most `width` columns, broken between words, and within words that are longer than a
// line; all but the first begin with `indent` spaces. 0 = one line.
std::vector<std::string> wrapped(const std::string& text, int width, int indent);

}  // namespace koord::cluster
