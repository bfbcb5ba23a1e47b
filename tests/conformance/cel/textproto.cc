#include "textproto.h"

#include <fmt/format.h>

#include "cel/syntax/lexer.h"

namespace koord::celtest {

const Proto* Proto::find(std::string_view name) const {
  for (const auto& [field, value] : fields)
    if (field == name) return &value;
  return nullptr;
}

std::vector<const Proto*> Proto::all(std::string_view name) const {
  std::vector<const Proto*> found;
  for (const auto& [field, value] : fields)
    if (field == name) found.push_back(&value);
  return found;
}

std::string_view Proto::textOf(std::string_view name) const {
  const Proto* field = find(name);
  return field ? std::string_view(field->text) : std::string_view();
}

bool mentions(const Proto& proto, std::string_view text) {
  if (proto.text.find(text) != std::string::npos) return true;
  for (const auto& [field, value] : proto.fields)
    if (field.find(text) != std::string::npos || mentions(value, text)) return true;
  return false;
}

namespace {

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  Result<Proto> run() {
    Proto proto = message('\0');
    if (!error_.empty()) return fail(ErrorCode::BadRequest, error_);
    return proto;
  }

 private:
  void skip() {
    while (at_ < text_.size()) {
      if (text_[at_] == '#') {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      } else if (std::string_view(" \t\r\n,;").find(text_[at_]) != std::string_view::npos) {
        ++at_;
      } else {
        return;
      }
    }
  }
  char peek() {
    skip();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  void fault(std::string_view what) {
    if (error_.empty()) error_ = fmt::format("byte {}: {}", at_, what);
    at_ = text_.size();
  }

  std::string word() {
    skip();
    const std::size_t begin = at_;
    const auto part = [&](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '-' ||
             c == '+';
    };
    while (at_ < text_.size() && part(text_[at_])) ++at_;
    if (at_ == begin) fault("a name or a number is expected");
    return std::string(text_.substr(begin, at_ - begin));
  }

  std::string name() {
    if (peek() != '[') return word();
    const std::size_t begin = ++at_;
    while (at_ < text_.size() && text_[at_] != ']') ++at_;
    return std::string(text_.substr(begin, at_++ - begin));
  }

  // Adjacent strings are one.
  std::string strings() {
    std::string result;
    while (peek() == '"' || peek() == '\'') {
      const char quote = text_[at_++];
      const std::size_t begin = at_;
      while (at_ < text_.size() && text_[at_] != quote) at_ += text_[at_] == '\\' ? 2 : 1;
      // Numbers are bytes, as in a bytes literal of CEL; \u is a code point.
      const std::string_view content = text_.substr(begin, at_ - begin);
      std::string bytes;
      if (!cel::unescape(content, true, bytes)) {
        bytes.clear();
        if (!cel::unescape(content, false, bytes)) fault("invalid escape sequence");
      }
      result += bytes;
      ++at_;
    }
    return result;
  }

  Proto value() {
    const char c = peek();
    if (c == '{' || c == '<') {
      ++at_;
      return message(c == '{' ? '}' : '>');
    }
    Proto scalar;
    scalar.text = c == '"' || c == '\'' ? strings() : word();
    return scalar;
  }

  Proto message(char end) {
    Proto proto;
    proto.isMessage = true;
    while (peek() != end) {
      if (at_ >= text_.size()) {
        fault("the text ends in a message");
        break;
      }
      const std::string field = name();
      if (peek() == ':') ++at_;
      if (peek() == '[') {
        ++at_;
        while (peek() != ']' && at_ < text_.size()) proto.fields.emplace_back(field, value());
        ++at_;
      } else {
        proto.fields.emplace_back(field, value());
      }
    }
    ++at_;
    return proto;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string error_;
};

}  // namespace

Result<Proto> parseTextProto(std::string_view text) {
  return Reader(text).run();
}

}  // namespace koord::celtest
