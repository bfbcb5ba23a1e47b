#pragma once

// Laying out JSON answers as text for a terminal. None of it fails, whatever the document is.

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace koord::koordctl {

constexpr std::size_t kWidth = 80;  // columns of a terminal

// The list at a member; an empty one when there is none.
const json::array& arrayAt(const json::value& value, std::string_view key);
// "" for nothing and null; JSON for what is no plain value.
std::string scalar(const json::value* value);
// "a, b, c", and ", ..." when there are more than the limit.
std::string joined(const json::array& values, std::size_t limit = 100);

using Row = std::vector<std::string>;
// The first row has the titles. Columns are as wide as what they hold, and the table is indented by two.
void addTable(std::string& out, const std::vector<Row>& rows);

// Words of the text in lines of at most kWidth columns. The first line begins with `first`, further ones
// with as many blanks. A word that is longer than that has a line of its own.
void addParagraph(std::string& out, std::string_view first, std::string_view text);

}  // namespace koord::koordctl
