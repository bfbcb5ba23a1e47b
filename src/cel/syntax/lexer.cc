#include "cel/syntax/lexer.h"

#include <fmt/format.h>

#include <array>

#include "base/utf8.h"

namespace koord::cel {

namespace {

bool isWordStart(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool isNumeral(char c) {
  return c >= '0' && c <= '9';
}
bool isHexNumeral(char c) {
  return isNumeral(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}
bool isWordPart(char c) {
  return isWordStart(c) || isNumeral(c);
}

class Lexer {
 public:
  Lexer(std::string_view text, IssueList& issues) : text_(text), issues_(issues) {}

  std::vector<Token> run() {
    while (skipBlanks(), at_ < text_.size()) {
      start_ = at_;
      if (!next()) break;
    }
    start_ = text_.size();
    emit(TokenKind::End, "");
    return std::move(tokens_);
  }

 private:
  char peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  void emit(TokenKind kind, std::string text) {
    tokens_.push_back({kind, std::move(text), static_cast<std::uint32_t>(start_)});
  }
  bool error(std::string message) {
    issues_.add(static_cast<std::uint32_t>(start_), "Syntax error: " + std::move(message));
    return false;
  }

  void skipBlanks() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '/' && peek(1) == '/') {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      } else if (c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f') {
        ++at_;
      } else {
        return;
      }
    }
  }

  bool next() {
    const char c = peek();
    if (const std::size_t prefix = literalPrefix()) return stringLiteral(prefix - 1);
    if (isWordStart(c)) return word();
    if (isNumeral(c) || (c == '.' && isNumeral(peek(1)))) return number();
    if (c == '`') return quotedIdent();
    return symbol();
  }

  // 1 + the length of the prefix (r, b, br, ...) if a string literal begins here, else 0.
  std::size_t literalPrefix() const {
    std::size_t length = 0;
    bool raw = false, bytes = false;
    while (length < 2) {
      const char c = peek(length);
      if ((c == 'r' || c == 'R') && !raw) {
        raw = true;
      } else if ((c == 'b' || c == 'B') && !bytes) {
        bytes = true;
      } else {
        break;
      }
      ++length;
    }
    const char quote = peek(length);
    return quote == '"' || quote == '\'' ? length + 1 : 0;
  }

  bool stringLiteral(std::size_t prefixLength) {
    bool raw = false, bytes = false;
    for (std::size_t i = 0; i < prefixLength; ++i) {
      raw = raw || peek(i) == 'r' || peek(i) == 'R';
      bytes = bytes || peek(i) == 'b' || peek(i) == 'B';
    }
    at_ += prefixLength;
    const char quote = peek();
    const bool triple = peek(1) == quote && peek(2) == quote;
    const std::string closing(triple ? 3 : 1, quote);
    at_ += closing.size();
    const std::size_t begin = at_;
    while (text_.substr(at_, closing.size()) != closing) {
      if (at_ >= text_.size() || (!triple && (text_[at_] == '\n' || text_[at_] == '\r')))
        return error("the string is not closed");
      at_ += !raw && text_[at_] == '\\' && at_ + 1 < text_.size() ? 2 : 1;
    }
    const std::string_view content = text_.substr(begin, at_ - begin);
    at_ += closing.size();
    std::string decoded;
    if (raw) {
      decoded = content;
    } else if (!unescape(content, bytes, decoded)) {
      return error("invalid escape sequence in a string");
    }
    emit(bytes ? TokenKind::Bytes : TokenKind::String, std::move(decoded));
    return true;
  }

  bool word() {
    while (isWordPart(peek())) ++at_;
    const std::string_view text = text_.substr(start_, at_ - start_);
    const bool isSymbol = text == "true" || text == "false" || text == "null" || text == "in";
    emit(isSymbol ? TokenKind::Symbol : TokenKind::Ident, std::string(text));
    return true;
  }

  bool quotedIdent() {
    ++at_;
    const std::size_t begin = at_;
    const auto allowed = [](char c) {
      return isWordPart(c) || c == '.' || c == '-' || c == '/' || c == ' ';
    };
    while (allowed(peek())) ++at_;
    if (peek() != '`' || at_ == begin) return error("invalid name in backquotes");
    emit(TokenKind::QuotedIdent, std::string(text_.substr(begin, at_ - begin)));
    ++at_;
    return true;
  }

  bool number() {
    TokenKind kind = TokenKind::Int;
    if (peek() == '0' && (peek(1) == 'x' || peek(1) == 'X') && isHexNumeral(peek(2))) {
      at_ += 2;
      while (isHexNumeral(peek())) ++at_;
    } else {
      while (isNumeral(peek())) ++at_;
      if (peek() == '.' && isNumeral(peek(1))) {
        kind = TokenKind::Double;
        ++at_;
        while (isNumeral(peek())) ++at_;
      }
      const std::size_t sign = peek(1) == '+' || peek(1) == '-' ? 1 : 0;
      if ((peek() == 'e' || peek() == 'E') && isNumeral(peek(1 + sign))) {
        kind = TokenKind::Double;
        at_ += 1 + sign;
        while (isNumeral(peek())) ++at_;
      }
    }
    std::string text(text_.substr(start_, at_ - start_));
    if (kind == TokenKind::Int && (peek() == 'u' || peek() == 'U')) {
      kind = TokenKind::Uint;
      ++at_;
    }
    emit(kind, std::move(text));
    return true;
  }

  bool symbol() {
    static constexpr std::array<std::string_view, 6> kTwo = {"==", "!=", "<=", ">=", "&&", "||"};
    for (const std::string_view two : kTwo) {
      if (text_.substr(at_, 2) != two) continue;
      at_ += 2;
      emit(TokenKind::Symbol, std::string(two));
      return true;
    }
    if (std::string_view("<>!-+*/%?:.,()[]{}").find(peek()) != std::string_view::npos) {
      emit(TokenKind::Symbol, std::string(1, peek()));
      ++at_;
      return true;
    }
    const std::size_t length = std::max<std::size_t>(1, utf8CharacterAt(text_.substr(at_)).length);
    return error(fmt::format("\"{}\" is not part of an expression", text_.substr(at_, length)));
  }

  std::string_view text_;
  IssueList& issues_;
  std::size_t at_ = 0;
  std::size_t start_ = 0;
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> tokenize(std::string_view text, IssueList& issues) {
  return Lexer(text, issues).run();
}

}  // namespace koord::cel
