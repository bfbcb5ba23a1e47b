#include "koordlet/states/list_items.h"

#include <fmt/core.h>

namespace koord::koordlet {
namespace {

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  // The next non-blank character; '\0' at the end.
  char peek() {
    at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size());
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(char wanted) {
    if (peek() != wanted) return false;
    ++at_;
    return true;
  }
  // The text of the next value; empty if it is truncated.
  std::string_view value() {
    const char first = peek();
    const std::size_t begin = at_;
    if (first == '"') return skipString() ? text_.substr(begin, at_ - begin) : std::string_view{};
    if (first != '{' && first != '[') {
      at_ = std::min(text_.find_first_of(",]} \t\r\n", at_), text_.size());
      return text_.substr(begin, at_ - begin);
    }
    int depth = 0;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '"') {
        if (!skipString()) return {};
        continue;
      }
      ++at_;
      if (c == '{' || c == '[') ++depth;
      if ((c == '}' || c == ']') && --depth == 0) return text_.substr(begin, at_ - begin);
    }
    return {};
  }
  std::unexpected<Error> broken() const {
    return fail(ErrorCode::BadRequest, fmt::format("not a JSON list of objects (at byte {})", at_));
  }

 private:
  bool skipString() {
    for (++at_; at_ < text_.size(); ++at_) {
      if (text_[at_] == '\\') {
        ++at_;
      } else if (text_[at_] == '"') {
        ++at_;
        return true;
      }
    }
    at_ = text_.size();
    return false;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

Result<> scanItems(std::string_view array, const std::function<void(std::string_view)>& item) {
  if (array == "null") return {};
  Scanner scanner(array);
  if (!scanner.take('[')) return scanner.broken();
  if (scanner.take(']')) return {};
  do {
    const auto one = scanner.value();
    if (one.empty()) return scanner.broken();
    item(one);
  } while (scanner.take(','));
  if (!scanner.take(']')) return scanner.broken();
  return {};
}

}  // namespace

Result<> forEachListItem(std::string_view list, const std::function<void(std::string_view)>& item) {
  Scanner scanner(list);
  if (!scanner.take('{')) return scanner.broken();
  if (scanner.take('}')) return {};
  do {
    const auto key = scanner.value();
    if (!key.starts_with('"') || !scanner.take(':')) return scanner.broken();
    const auto value = scanner.value();
    if (value.empty()) return scanner.broken();
    if (key != "\"items\"") continue;
    if (auto scanned = scanItems(value, item); !scanned) return scanned;
  } while (scanner.take(','));
  if (!scanner.take('}')) return scanner.broken();
  return {};
}

}  // namespace koord::koordlet
