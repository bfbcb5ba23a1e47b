#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "base/ascii.h"
#include "scenario/jmespath_ast.h"

// An operator precedence parser (Pratt, 1973): every token has a binding power; an expression
// continues while the next token binds stronger than its caller.

// The lexer converts the text to a list of lexemes, each with its position for errors. An
// expression is a prefix (a name, a literal, a bracket, a negation) and, while the next operator
// binds more tightly than the caller's, that operator with its operand: expression(power) calls
// itself with the power of the operator just read, which gives precedence and left association
// without a grammar rule per level.
//
// Projections differ from arithmetic operators. "a[*].b.c" applies ".b.c" to every element, "a[*] |
// b" applies "b" to the list. So the text to the right of a projection is parsed with the
// projection's own power and becomes its child (projected); operators that bind more loosely, such
// as a pipe, end it. evaluate() needs no special case.
//
// The depth is limited, because expressions come from files and each level is a call. Cost:
// O(length). Source: jmespath.org's grammar, and the community's additions for arithmetic, let and
// ternaries.

namespace koord::scenario::jmespath {
namespace {

enum class Token {
  End,
  Identifier,
  QuotedIdentifier,
  RawString,
  Literal,
  Number,
  Variable,
  Dot,
  Star,
  Flatten,
  Filter,
  LeftBracket,
  RightBracket,
  LeftBrace,
  RightBrace,
  LeftParen,
  RightParen,
  Comma,
  Colon,
  Question,
  Pipe,
  Or,
  And,
  Not,
  Reference,
  Current,
  Root,
  Assign,
  Equal,
  NotEqual,
  Less,
  LessOrEqual,
  Greater,
  GreaterOrEqual,
  Plus,
  Minus,
  Divide,
  IntegerDivide,
  Modulo,
};

struct Lexeme {
  Token token;
  std::size_t at;
  std::string text;
  json::value value;
};

constexpr int kProjectionStops = 10;
constexpr int kMaxDepth = 128;

int bindingPower(Token token) {
  switch (token) {
    case Token::Pipe:
      return 1;
    case Token::Question:
      return 2;
    case Token::Or:
      return 3;
    case Token::And:
      return 4;
    case Token::Equal:
    case Token::NotEqual:
    case Token::Less:
    case Token::LessOrEqual:
    case Token::Greater:
    case Token::GreaterOrEqual:
      return 5;
    case Token::Plus:
    case Token::Minus:
      return 6;
    case Token::Star:
    case Token::Divide:
    case Token::IntegerDivide:
    case Token::Modulo:
      return 7;
    case Token::Not:
      return 8;
    case Token::Flatten:
      return 9;
    case Token::Filter:
      return 21;
    case Token::Dot:
      return 40;
    case Token::LeftBracket:
      return 55;
    default:
      return 0;
  }
}
constexpr int kStarPower = 20;
constexpr int kUnaryPower = 8;

// Syntax errors are exceptions inside this file only.
struct SyntaxError {
  std::size_t at;
  std::string what;
};

bool isNameStart(char c) {
  return isLower(c) || isUpper(c) || c == '_';
}
bool isNamePart(char c) {
  return isNameStart(c) || isDigit(c);
}

// The longest spellings first.
constexpr std::pair<std::string_view, Token> kOperators[] = {
    {"[]", Token::Flatten},
    {"[?", Token::Filter},
    {"||", Token::Or},
    {"&&", Token::And},
    {"==", Token::Equal},
    {"!=", Token::NotEqual},
    {"<=", Token::LessOrEqual},
    {">=", Token::GreaterOrEqual},
    {"//", Token::IntegerDivide},
    {"\u00d7", Token::Star},
    {"\u00f7", Token::Divide},
    {"\u2212", Token::Minus},
    {"\u2013", Token::Minus},
    {".", Token::Dot},
    {"*", Token::Star},
    {"[", Token::LeftBracket},
    {"]", Token::RightBracket},
    {"{", Token::LeftBrace},
    {"}", Token::RightBrace},
    {"(", Token::LeftParen},
    {")", Token::RightParen},
    {",", Token::Comma},
    {":", Token::Colon},
    {"?", Token::Question},
    {"|", Token::Pipe},
    {"!", Token::Not},
    {"&", Token::Reference},
    {"@", Token::Current},
    {"=", Token::Assign},
    {"<", Token::Less},
    {">", Token::Greater},
    {"+", Token::Plus},
    {"-", Token::Minus},
    {"/", Token::Divide},
    {"%", Token::Modulo},
};

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  std::vector<Lexeme> all() {
    std::vector<Lexeme> result;
    do {
      result.push_back(next());
    } while (result.back().token != Token::End);
    return result;
  }

 private:
  bool eat(std::string_view what) {
    if (!text_.substr(at_).starts_with(what)) return false;
    at_ += what.size();
    return true;
  }

  std::string name() {
    const std::size_t from = at_;
    while (at_ < text_.size() && isNamePart(text_[at_])) ++at_;
    return std::string(text_.substr(from, at_ - from));
  }

  // The text between two delimiters; a backslash escapes the next character.
  std::string_view delimited(char delimiter, std::size_t from) {
    for (++at_; at_ < text_.size() && text_[at_] != delimiter; ++at_) {
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) ++at_;
    }
    if (at_ >= text_.size())
      throw SyntaxError{from, fmt::format("the closing {} is missing", delimiter)};
    ++at_;
    return text_.substr(from + 1, at_ - from - 2);
  }

  static std::string unescape(std::string_view text, std::string_view escapable) {
    std::string result;
    for (std::size_t i = 0; i < text.size(); ++i) {
      const bool drop = text[i] == '\\' && i + 1 < text.size() &&
                        escapable.find(text[i + 1]) != std::string_view::npos;
      result += drop ? text[++i] : text[i];
    }
    return result;
  }

  Lexeme next() {
    while (at_ < text_.size() &&
           std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) {
      ++at_;
    }
    const std::size_t from = at_;
    const auto make = [&](Token token, std::string text = {}, json::value value = {}) {
      return Lexeme{token, from, std::move(text), std::move(value)};
    };
    if (at_ == text_.size()) return make(Token::End);
    const char c = text_[at_];
    if (isNameStart(c)) return make(Token::Identifier, name());
    if (isDigit(c)) return make(Token::Number, name());
    if (c == '"') {
      const auto inner = delimited('"', from);
      auto value = parseJson(fmt::format("\"{}\"", inner));
      if (!value || !value->is_string()) throw SyntaxError{from, "not a valid quoted name"};
      return make(Token::QuotedIdentifier, std::string(value->get_string()));
    }
    if (c == '\'')
      return make(Token::RawString, {}, json::string(unescape(delimited('\'', from), "'\\")));
    if (c == '`') {
      auto value = parseJson(unescape(delimited('`', from), "`"));
      if (!value) throw SyntaxError{from, "the text in backticks must be JSON"};
      return make(Token::Literal, {}, *std::move(value));
    }
    if (c == '$') {
      ++at_;
      if (at_ < text_.size() && isNameStart(text_[at_])) return make(Token::Variable, name());
      return make(Token::Root);
    }
    for (const auto& [spelling, token] : kOperators) {
      if (eat(spelling)) return make(token, std::string(spelling));
    }
    throw SyntaxError{from, fmt::format("unexpected character '{}'", c)};
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

using NodePtr = std::unique_ptr<Node>;

template <class... Children>
NodePtr make(Op op, Children... children) {
  auto node = std::make_unique<Node>();
  node->op = op;
  (node->children.push_back(std::move(children)), ...);
  return node;
}

// Plain binary operators.
constexpr std::pair<Token, Op> kBinary[] = {
    {Token::Pipe, Op::Pipe},
    {Token::Or, Op::Or},
    {Token::And, Op::And},
    {Token::Equal, Op::Equal},
    {Token::NotEqual, Op::NotEqual},
    {Token::Less, Op::Less},
    {Token::LessOrEqual, Op::LessOrEqual},
    {Token::Greater, Op::Greater},
    {Token::GreaterOrEqual, Op::GreaterOrEqual},
    {Token::Plus, Op::Add},
    {Token::Minus, Op::Subtract},
    {Token::Star, Op::Multiply},
    {Token::Divide, Op::Divide},
    {Token::IntegerDivide, Op::IntegerDivide},
    {Token::Modulo, Op::Modulo},
};

class Parser {
 public:
  explicit Parser(std::vector<Lexeme> lexemes) : lexemes_(std::move(lexemes)) {}

  NodePtr whole() {
    if (peek() == Token::End) throw SyntaxError{0, "the expression is empty"};
    auto node = expression(0);
    if (peek() != Token::End) unexpected();
    return node;
  }

 private:
  Token peek(std::size_t ahead = 0) const {
    return lexemes_[std::min(at_ + ahead, lexemes_.size() - 1)].token;
  }
  const Lexeme& advance() {
    const Lexeme& lexeme = lexemes_[at_];
    if (lexeme.token != Token::End) ++at_;
    return lexeme;
  }
  void expect(Token token, std::string_view what) {
    if (peek() != token) {
      throw SyntaxError{lexemes_[at_].at, fmt::format("expected {}", what)};
    }
    advance();
  }
  [[noreturn]] void unexpected() const {
    const Lexeme& lexeme = lexemes_[at_];
    if (lexeme.token == Token::End)
      throw SyntaxError{lexeme.at, "unexpected end of the expression"};
    if (lexeme.token == Token::Number) {
      throw SyntaxError{lexeme.at,
                        fmt::format("numbers are written in backticks: `{}`", lexeme.text)};
    }
    throw SyntaxError{lexeme.at, lexeme.text.empty()
                                     ? std::string("unexpected value")
                                     : fmt::format("unexpected \"{}\"", lexeme.text)};
  }

  NodePtr expression(int power) {
    if (++depth_ > kMaxDepth) throw SyntaxError{lexemes_[at_].at, "nested too deeply"};
    auto left = prefix();
    while (bindingPower(peek()) > power) left = infix(std::move(left));
    --depth_;
    return left;
  }

  NodePtr prefix() {
    switch (peek()) {
      case Token::Literal:
      case Token::RawString: {
        auto node = make(Op::Literal);
        node->value = advance().value;
        return node;
      }
      case Token::Identifier:
        if (lexemes_[at_].text == "let" && peek(1) == Token::Variable) return let();
        if (peek(1) == Token::LeftParen) return call();
        return field();
      case Token::QuotedIdentifier:
        if (peek(1) == Token::LeftParen) {
          throw SyntaxError{lexemes_[at_].at, "a function's name must not be quoted"};
        }
        return field();
      case Token::Variable: {
        auto node = make(Op::Variable);
        node->text = advance().text;
        return node;
      }
      case Token::Current:
        advance();
        return make(Op::Current);
      case Token::Root:
        advance();
        return make(Op::Root);
      case Token::Star:
        if (lexemes_[at_].text != "*") unexpected();
        advance();
        return make(Op::ProjectValues, make(Op::Current), projected(kStarPower));
      case Token::Filter:
      case Token::Flatten:
        return infix(make(Op::Current));
      case Token::LeftBrace:
        advance();
        return hash();
      case Token::LeftParen: {
        advance();
        auto inner = expression(0);
        expect(Token::RightParen, "\")\"");
        return inner;
      }
      case Token::Not:
        advance();
        return make(Op::Not, expression(kUnaryPower));
      case Token::Minus:
        advance();
        return make(Op::Negate, expression(kUnaryPower));
      case Token::Plus:
        advance();
        return make(Op::Plus, expression(kUnaryPower));
      case Token::LeftBracket:
        advance();
        return bracketed();
      default:
        unexpected();
    }
  }

  // A bracket at the beginning of an expression: applies to the current value, or is a list.
  NodePtr bracketed() {
    if (startsIndex()) return index(make(Op::Current));
    if (peek() == Token::Star && peek(1) == Token::RightBracket) {
      advance();
      advance();
      return make(Op::Project, make(Op::Current), projected(kStarPower));
    }
    return list();
  }

  NodePtr infix(NodePtr left) {
    const Token token = advance().token;
    const int power = bindingPower(token);
    for (const auto& [of, op] : kBinary)
      if (of == token) return make(op, std::move(left), expression(power));
    switch (token) {
      case Token::Dot:
        if (peek() == Token::Star) {
          advance();
          return make(Op::ProjectValues, std::move(left), projected(kStarPower));
        }
        return make(Op::Sub, std::move(left), afterDot(power));
      case Token::Question: {
        auto then = expression(0);
        expect(Token::Colon, "\":\" of the ternary");
        return make(Op::Ternary, std::move(left), std::move(then), expression(power - 1));
      }
      case Token::Flatten:
        return make(Op::Project, make(Op::Flatten, std::move(left)), projected(power));
      case Token::Filter: {
        auto condition = expression(0);
        expect(Token::RightBracket, "\"]\" after the filter");
        auto right = peek() == Token::Flatten ? make(Op::Current) : projected(power);
        return make(Op::ProjectFiltered, std::move(left), std::move(right), std::move(condition));
      }
      case Token::LeftBracket:
        if (startsIndex()) return index(std::move(left));
        expect(Token::Star, "an index, a slice, \"*\" or a filter");
        expect(Token::RightBracket, "\"]\"");
        return make(Op::Project, std::move(left), projected(kStarPower));
      default:
        --at_;
        unexpected();
    }
  }

  // The part that a projection applies to each element.
  NodePtr projected(int power) {
    if (bindingPower(peek()) < kProjectionStops) return make(Op::Current);
    if (peek() == Token::LeftBracket || peek() == Token::Filter) return expression(power);
    if (peek() == Token::Dot) {
      advance();
      return afterDot(power);
    }
    unexpected();
  }

  NodePtr afterDot(int power) {
    switch (peek()) {
      case Token::Identifier:
      case Token::QuotedIdentifier:
      case Token::Star:
        return expression(power);
      case Token::LeftBracket:
        advance();
        return list();
      case Token::LeftBrace:
        advance();
        return hash();
      default:
        unexpected();
    }
  }

  NodePtr field() {
    auto node = make(Op::Field);
    node->text = advance().text;
    return node;
  }

  NodePtr call() {
    auto node = make(Op::Call);
    const std::size_t at = lexemes_[at_].at;
    node->text = advance().text;
    advance();
    while (peek() != Token::RightParen) {
      if (peek() == Token::Reference) {
        advance();
        node->children.push_back(make(Op::Reference, expression(0)));
      } else {
        node->children.push_back(expression(0));
      }
      if (peek() == Token::RightParen) break;
      expect(Token::Comma, "\",\" or \")\"");
      if (peek() == Token::RightParen) unexpected();
    }
    advance();
    const FunctionEntry* function = findFunction(node->text);
    if (!function) throw SyntaxError{at, fmt::format("unknown function {}()", node->text)};
    const std::size_t count = node->children.size();
    if (count < function->minArguments || count > function->maxArguments) {
      throw SyntaxError{at, fmt::format("{}() does not take {} argument{}", node->text, count,
                                        count == 1 ? "" : "s")};
    }
    return node;
  }

  NodePtr let() {
    advance();
    auto node = make(Op::Let);
    for (;;) {
      if (peek() != Token::Variable) unexpected();
      node->names.push_back(advance().text);
      expect(Token::Assign, "\"=\"");
      node->children.push_back(expression(0));
      if (peek() != Token::Comma) break;
      advance();
    }
    if (peek() != Token::Identifier || lexemes_[at_].text != "in") {
      throw SyntaxError{lexemes_[at_].at, "expected \"in\""};
    }
    advance();
    node->children.push_back(expression(0));
    return node;
  }

  NodePtr list() {
    auto node = make(Op::List);
    for (;;) {
      node->children.push_back(expression(0));
      if (peek() == Token::RightBracket) break;
      expect(Token::Comma, "\",\" or \"]\"");
    }
    advance();
    return node;
  }

  NodePtr hash() {
    auto node = make(Op::Hash);
    for (;;) {
      if (peek() != Token::Identifier && peek() != Token::QuotedIdentifier) unexpected();
      node->names.push_back(advance().text);
      expect(Token::Colon, "\":\"");
      node->children.push_back(expression(0));
      if (peek() == Token::RightBrace) break;
      expect(Token::Comma, "\",\" or \"}\"");
    }
    advance();
    return node;
  }

  bool startsIndex() const {
    return peek() == Token::Number || peek() == Token::Colon ||
           (peek() == Token::Minus && peek(1) == Token::Number);
  }

  std::int64_t number() {
    const bool negative = peek() == Token::Minus;
    if (negative) advance();
    const Lexeme& lexeme = advance();
    std::int64_t value = 0;
    const char* const end = lexeme.text.data() + lexeme.text.size();
    const auto [stop, ec] = std::from_chars(lexeme.text.data(), end, value);
    if (lexeme.token != Token::Number || ec != std::errc() || stop != end) {
      throw SyntaxError{lexeme.at, "expected an integer"};
    }
    return negative ? -value : value;
  }

  NodePtr index(NodePtr left) {
    std::array<std::optional<std::int64_t>, 3> parts;
    std::size_t part = 0;
    while (peek() != Token::RightBracket) {
      if (peek() == Token::Colon) {
        advance();
        if (++part > 2) throw SyntaxError{lexemes_[at_].at, "a slice has three parts at most"};
      } else {
        if (parts[part]) unexpected();
        parts[part] = number();
      }
    }
    advance();
    auto node = make(part == 0 ? Op::Index : Op::Slice, std::move(left));
    node->start = parts[0];
    node->stop = parts[1];
    node->step = parts[2];
    if (part == 0) return node;
    return make(Op::Project, std::move(node), projected(kStarPower));
  }

  std::vector<Lexeme> lexemes_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

Result<std::unique_ptr<Node>> parse(std::string_view text) {
  try {
    return Parser(Lexer(text).all()).whole();
  } catch (const SyntaxError& error) {
    return fail(ErrorCode::BadRequest,
                fmt::format("column {}: {} in ({})", error.at + 1, error.what, text));
  }
}

}  // namespace koord::scenario::jmespath
