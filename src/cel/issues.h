#pragma once

// Collects the errors of a text, and formats them as cel-go does:
//
//   ERROR: <input>:1:5: undeclared reference to 'x' (in container '')
//    | 1 + x
//    | ....^

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cel/cel.h"

namespace koord::cel {

class IssueList {
 public:
  explicit IssueList(std::string_view text) : text_(text) {}
  // `position` is a byte of the text. Only the first issues are kept, and one at each position.
  void add(std::uint32_t position, std::string message);
  bool empty() const { return issues_.empty(); }
  const std::vector<Issue>& issues() const { return issues_; }
  std::string toString() const;

 private:
  static constexpr std::size_t kMost = 100;
  std::string_view text_;
  std::vector<std::uint32_t> positions_;
  std::vector<Issue> issues_;
};

}  // namespace koord::cel
