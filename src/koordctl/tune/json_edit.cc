#include "koordctl/tune/json_edit.h"

#include <optional>

#include "base/json.h"

namespace koord::koordctl {

namespace {

constexpr std::string_view kSpaces = " \t\r\n";

// Walks over a valid JSON text.
class Walker {
 public:
  Walker(std::string_view text, std::size_t at) : text_(text), at_(at) {}

  std::size_t at() const { return at_; }
  void skipSpaces() { at_ = std::min(text_.find_first_not_of(kSpaces, at_), text_.size()); }
  bool take(char c) {
    skipSpaces();
    const bool is = at_ < text_.size() && text_[at_] == c;
    at_ += is ? 1 : 0;
    return is;
  }
  // The text of the value, without spaces around it.
  std::string_view value() {
    skipSpaces();
    const std::size_t begin = at_;
    int depth = 0;
    do {
      if (at_ >= text_.size()) break;
      const char c = text_[at_];
      if (c == '"') {
        string();
      } else if (c == '{' || c == '[') {
        ++depth;
        ++at_;
      } else if (c == '}' || c == ']') {
        --depth;
        ++at_;
      } else if (depth > 0) {
        ++at_;
      } else {  // a number, true, false or null
        at_ = std::min(text_.find_first_of(",]} \t\r\n", at_), text_.size());
      }
    } while (depth > 0);
    return text_.substr(begin, at_ - begin);
  }

 private:
  void string() {
    for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_)
      if (text_[at_] == '\\') ++at_;
    at_ = std::min(at_ + 1, text_.size());
  }

  std::string_view text_;
  std::size_t at_;
};

bool isName(std::string_view text, std::string_view name) {
  const auto parsed = parseJson(text);
  const auto* string = parsed ? parsed->if_string() : nullptr;
  return string && std::string_view(*string) == name;
}

struct Range {
  std::size_t begin, length;
};
struct Members {
  std::optional<Range> found;  // the value
  std::size_t end = 1;         // of the last value; behind the brace if there is none
};

// Of the object that begins at the start of the text.
Members membersOfText(std::string_view object, std::string_view name) {
  Walker walker(object, 0);
  Members members;
  walker.take('{');
  walker.skipSpaces();
  while (walker.at() < object.size() && object[walker.at()] == '"') {
    const bool same = isName(walker.value(), name);
    walker.take(':');
    const std::string_view value = walker.value();
    if (same)
      members.found = {static_cast<std::size_t>(value.data() - object.data()), value.size()};
    members.end = walker.at();
    if (!walker.take(',')) break;
    walker.skipSpaces();
  }
  return members;
}

bool isObject(std::string_view text) {
  const auto parsed = parseJson(text);
  return parsed && parsed->is_object();
}

}  // namespace

std::string withMember(std::string_view text, std::span<const std::string_view> path,
                       std::string_view value) {
  if (path.empty()) return std::string(value);
  std::string result(isObject(text) ? text : "{}");
  const std::size_t open = result.find('{');
  const std::string_view object = std::string_view(result).substr(open);
  const auto [member, end] = membersOfText(object, path.front());
  if (member) {
    const std::string inner =
        withMember(object.substr(member->begin, member->length), path.subspan(1), value);
    result.replace(open + member->begin, member->length, inner);
    return result;
  }
  result.insert(open + end, (end > 1 ? "," : "") + toJson(json::value(path.front())) + ":" +
                                withMember("{}", path.subspan(1), value));
  return result;
}

}  // namespace koord::koordctl
