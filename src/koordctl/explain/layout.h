#pragma once

// Formats JSON answers as text for a terminal. No function fails, for any document.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace koord::koordctl {

constexpr std::size_t kWidth = 80;  // columns of a terminal

// The list at a member; empty if there is none.
const json::array& arrayAt(const json::value& value, std::string_view key);
const json::array& arrayAt(const json::object& object, std::string_view key);
// The whole number at a member; 0 if there is none.
std::int64_t countAt(const json::value& value, std::string_view key);
// "" for a missing value and null; JSON for objects and lists.
std::string scalar(const json::value* value);
// "a, b, c", with ", ..." if there are more than the limit.
std::string joined(const json::array& values, std::size_t limit = 100);

using Row = std::vector<std::string>;
// Adds a table; the first row has the titles. Columns are as wide as their content, and the table
// is indented by two.
void addTable(std::string& out, const std::vector<Row>& rows);

// Adds the words of the text in lines of at most kWidth columns. The first line begins with
// `first`, the others with as many blanks. A longer word gets a line of its own.
void addParagraph(std::string& out, std::string_view first, std::string_view text);

}  // namespace koord::koordctl
