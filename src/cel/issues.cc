#include "cel/issues.h"

#include <fmt/format.h>

#include <algorithm>

#include "cel/utf8_text.h"

namespace koord::cel {

void IssueList::add(std::uint32_t position, std::string message) {
  if (issues_.size() >= kMost || std::ranges::find(positions_, position) != positions_.end())
    return;
  positions_.push_back(position);
  const std::string_view before = text_.substr(0, std::min<std::size_t>(position, text_.size()));
  const std::size_t lineStart = before.rfind('\n') + 1;  // npos + 1 is 0
  Issue issue;
  issue.line = static_cast<int>(std::ranges::count(before, '\n')) + 1;
  issue.column = static_cast<int>(countCodePoints(before.substr(lineStart))) + 1;
  issue.message = std::move(message);
  issues_.push_back(std::move(issue));
}

std::string IssueList::toString() const {
  constexpr std::size_t kMaxShownLine = 500;
  std::string result;
  for (const Issue& issue : issues_) {
    if (!result.empty()) result += '\n';
    result += fmt::format("ERROR: <input>:{}:{}: {}", issue.line, issue.column, issue.message);
    std::string_view line = text_;
    for (int i = 1; i < issue.line; ++i) line.remove_prefix(line.find('\n') + 1);
    line = line.substr(0, line.find('\n'));
    if (line.size() <= kMaxShownLine)
      result += fmt::format("\n | {}\n | {}^", line,
                            std::string(static_cast<std::size_t>(issue.column - 1), '.'));
  }
  return result;
}

}  // namespace koord::cel
