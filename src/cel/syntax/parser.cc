#include "cel/syntax/parser.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <unordered_set>

#include "base/utf8.h"
#include "cel/syntax/lexer.h"

namespace koord::cel {

namespace {

// Macros copy parts of the tree, and chains of operators make it high.
constexpr int kMaxHeight = 1'000;

struct BinaryOperator {
  std::string_view symbol;
  std::string_view function;
};
constexpr std::array<BinaryOperator, 7> kRelations = {{{"<", op::kLess},
                                                       {"<=", op::kLessEquals},
                                                       {">", op::kGreater},
                                                       {">=", op::kGreaterEquals},
                                                       {"==", op::kEquals},
                                                       {"!=", op::kNotEquals},
                                                       {"in", op::kIn}}};
constexpr std::array<BinaryOperator, 2> kSums = {{{"+", op::kAdd}, {"-", op::kSubtract}}};
constexpr std::array<BinaryOperator, 3> kProducts = {
    {{"*", op::kMultiply}, {"/", op::kDivide}, {"%", op::kModulo}}};

bool isReserved(std::string_view name) {
  static const std::unordered_set<std::string_view> kReserved = {
      "as",  "break", "const",   "continue",  "else",   "for", "function", "if",   "import",
      "let", "loop",  "package", "namespace", "return", "var", "void",     "while"};
  return kReserved.contains(name);
}

class Parser {
 public:
  Parser(std::vector<Token> tokens, const ParseOptions& options, IssueList& issues)
      : tokens_(std::move(tokens)), options_(options), issues_(issues) {}

  ExprPtr run() {
    ExprPtr expr = expression();
    if (!failed_ && current().kind != TokenKind::End) expected("an operator or the end");
    return failed_ ? nullptr : std::move(expr);
  }

 private:
  const Token& current() const { return tokens_[at_]; }
  bool is(std::string_view symbol) const {
    return current().kind == TokenKind::Symbol && current().text == symbol;
  }
  bool accept(std::string_view symbol) {
    if (failed_ || !is(symbol)) return false;
    ++at_;
    return true;
  }
  void require(std::string_view symbol) {
    if (!failed_ && !accept(symbol)) expected(fmt::format("'{}'", symbol));
  }
  void error(std::uint32_t position, std::string message) {
    if (!failed_) issues_.add(position, std::move(message));
    failed_ = true;
  }
  void expected(std::string_view what) {
    const Token& found = current();
    std::string name = found.kind == TokenKind::End ? "the end" : "'" + found.text + "'";
    if (!isUtf8(name)) name = "bytes";
    error(found.position, fmt::format("Syntax error: expected {} but found {}", what, name));
  }

  static ExprPtr make(ExprKind kind, std::uint32_t position) {
    auto expr = std::make_unique<Expr>();
    expr->kind = kind;
    expr->position = position;
    return expr;
  }
  ExprPtr finish(ExprPtr expr) {
    measureHeight(*expr);
    if (expr->height > kMaxHeight) error(expr->position, "the expression nests too deeply");
    return expr;
  }
  template <class... Arguments>
  ExprPtr call(std::uint32_t position, std::string_view name, Arguments... arguments) {
    ExprPtr expr = make(ExprKind::Call, position);
    expr->name = name;
    (expr->arguments.push_back(std::move(arguments)), ...);
    return finish(std::move(expr));
  }
  // After an error, functions return what they have, or this.
  static ExprPtr nothing() { return std::make_unique<Expr>(); }

  // Every nested part of a text is an expression.
  ExprPtr expression() {
    if (depth_ >= options_.limits.depth)
      error(current().position,
            fmt::format("expression recursion limit exceeded: {}", options_.limits.depth));
    if (failed_) return nothing();
    ++depth_;
    ExprPtr expr = conditional();
    --depth_;
    return expr;
  }

  ExprPtr conditional() {
    ExprPtr condition = chain("||", op::kOr);
    const std::uint32_t position = current().position;
    if (!accept("?")) return condition;
    ExprPtr yes = chain("||", op::kOr);
    require(":");
    ExprPtr no = expression();
    return call(position, op::kConditional, std::move(condition), std::move(yes), std::move(no));
  }

  // a && b && c is one call of three arguments.
  ExprPtr chain(std::string_view symbol, std::string_view function) {
    const auto operand = [&] { return symbol == "||" ? chain("&&", op::kAnd) : relation(); };
    ExprPtr first = operand();
    if (failed_ || !is(symbol)) return first;
    ExprPtr expr = make(ExprKind::Call, current().position);
    expr->name = function;
    expr->arguments.push_back(std::move(first));
    while (accept(symbol)) expr->arguments.push_back(operand());
    return finish(std::move(expr));
  }

  template <std::size_t Count>
  const BinaryOperator* operatorOf(const std::array<BinaryOperator, Count>& operators) const {
    if (failed_ || current().kind != TokenKind::Symbol) return nullptr;
    for (const BinaryOperator& each : operators)
      if (current().text == each.symbol) return &each;
    return nullptr;
  }
  template <std::size_t Count, class Operand>
  ExprPtr binary(const std::array<BinaryOperator, Count>& operators, Operand operand) {
    ExprPtr left = operand();
    while (const BinaryOperator* found = operatorOf(operators)) {
      const std::uint32_t position = current().position;
      ++at_;
      ExprPtr right = operand();
      left = call(position, found->function, std::move(left), std::move(right));
    }
    return left;
  }
  ExprPtr relation() {
    return binary(kRelations, [this] { return sum(); });
  }
  ExprPtr sum() {
    return binary(kSums, [this] { return binary(kProducts, [this] { return unary(); }); });
  }

  ExprPtr unary() {
    const std::uint32_t position = current().position;
    for (const auto& [symbol, function] : {BinaryOperator{"!", op::kNot}, {"-", op::kNegate}}) {
      if (!is(symbol) || (symbol == "-" && isNumber(1))) continue;
      bool odd = false;  // two cancel each other
      while (is(symbol) && !(symbol == "-" && isNumber(1))) {
        odd = !odd;
        ++at_;
      }
      ExprPtr operand = member();
      return odd ? call(position, function, std::move(operand)) : std::move(operand);
    }
    return member();
  }
  bool isNumber(std::size_t ahead) const {
    const TokenKind kind = tokens_[std::min(at_ + ahead, tokens_.size() - 1)].kind;
    return kind == TokenKind::Int || kind == TokenKind::Double;
  }

  ExprPtr member() {
    ExprPtr expr = primary();
    while (!failed_) {
      const std::uint32_t position = current().position;
      if (accept(".")) {
        expr = select(std::move(expr), position);
      } else if (accept("[")) {
        const bool optional = accept("?");
        ExprPtr index = expression();
        require("]");
        expr = call(position, optional ? op::kOptionalIndex : op::kIndex, std::move(expr),
                    std::move(index));
      } else if (is("{")) {
        expr = structure(std::move(expr));
      } else {
        break;
      }
    }
    return expr;
  }

  ExprPtr select(ExprPtr operand, std::uint32_t position) {
    const bool optional = accept("?");
    const Token name = current();
    if (name.kind != TokenKind::Ident && name.kind != TokenKind::QuotedIdent) {
      expected("a field name");
      return operand;
    }
    ++at_;
    if (optional) {
      ExprPtr field = make(ExprKind::Literal, name.position);
      field->literal = Value::string(name.text);
      return call(position, op::kOptionalSelect, std::move(operand), std::move(field));
    }
    if (name.kind == TokenKind::Ident && is("("))
      return invocation(std::move(operand), name.text, position);
    ExprPtr expr = make(ExprKind::Select, position);
    expr->name = name.text;
    expr->target = std::move(operand);
    return finish(std::move(expr));
  }

  // The arguments, and what macros make of them. The current token is "(".
  ExprPtr invocation(ExprPtr target, const std::string& name, std::uint32_t position) {
    ++at_;
    ExprPtr expr = make(ExprKind::Call, position);
    expr->name = name;
    expr->target = std::move(target);
    if (!accept(")")) {
      do expr->arguments.push_back(expression());
      while (accept(","));
      require(")");
    }
    if (failed_) return expr;
    const int count = static_cast<int>(expr->arguments.size());
    if (const Macro* macro = options_.macros(name, expr->target != nullptr, count)) {
      MacroContext context(issues_, position);
      ExprPtr expanded = macro->expand(context, expr->target, expr->arguments);
      if (context.failed()) failed_ = true;
      if (expanded && !failed_) return finish(std::move(expanded));
      if (failed_) return nothing();
    }
    return finish(std::move(expr));
  }

  ExprPtr primary() {
    const Token token = current();
    if (accept("(")) {
      ExprPtr expr = expression();
      require(")");
      return expr;
    }
    if (accept("[")) return listLiteral(token.position);
    if (accept("{")) return mapLiteral(token.position);
    const bool rooted = accept(".");
    if (current().kind == TokenKind::Ident) return identifier(rooted, token.position);
    if (rooted) {
      expected("a name");
      return nothing();
    }
    return literal();
  }

  ExprPtr identifier(bool rooted, std::uint32_t position) {
    const std::string name = (rooted ? "." : "") + current().text;
    if (isReserved(current().text)) {
      error(current().position, "reserved identifier: " + current().text);
      return nothing();
    }
    ++at_;
    if (is("(")) return invocation(nullptr, name, position);
    ExprPtr expr = make(ExprKind::Ident, position);
    expr->name = name;
    expr->rooted = rooted;
    return expr;
  }

  ExprPtr listLiteral(std::uint32_t position) {
    ExprPtr expr = make(ExprKind::List, position);
    bool anyOptional = false;
    while (!failed_ && !is("]") && !is(",")) {
      const bool optional = accept("?");
      anyOptional = anyOptional || optional;
      expr->arguments.push_back(expression());
      expr->optionalItems.push_back(optional);
      if (!accept(",")) break;
    }
    if (expr->arguments.empty()) accept(",");
    require("]");
    if (!anyOptional) expr->optionalItems.clear();
    return finish(std::move(expr));
  }

  ExprPtr mapLiteral(std::uint32_t position) {
    ExprPtr expr = make(ExprKind::Map, position);
    entries([&](Entry& entry) { entry.key = expression(); }, *expr);
    return finish(std::move(expr));
  }

  ExprPtr structure(ExprPtr typeName) {
    const auto name = qualifiedName(*typeName);
    if (!name) {
      expected("an operator");
      return typeName;
    }
    ExprPtr expr = make(ExprKind::Struct, current().position);
    expr->name = *name;
    ++at_;
    const auto field = [&](Entry& entry) {
      if (current().kind != TokenKind::Ident && current().kind != TokenKind::QuotedIdent)
        return expected("a field name");
      entry.field = current().text;
      ++at_;
    };
    entries(field, *expr);
    return finish(std::move(expr));
  }

  // [?]key: value, ... up to the closing brace.
  template <class ReadKey>
  void entries(ReadKey readKey, Expr& expr) {
    while (!failed_ && !is("}") && !is(",")) {
      Entry entry;
      entry.position = current().position;
      entry.optional = accept("?");
      readKey(entry);
      require(":");
      if (failed_) return;
      entry.value = expression();
      expr.entries.push_back(std::move(entry));
      if (!accept(",")) break;
    }
    if (expr.entries.empty()) accept(",");
    require("}");
  }

  ExprPtr literal() {
    const Token token = current();
    ExprPtr expr = make(ExprKind::Literal, token.position);
    const bool negative = is("-") && isNumber(1);
    if (negative) ++at_;
    const Token& value = current();
    switch (value.kind) {
      case TokenKind::Int:
        integer(value, negative, *expr);
        break;
      case TokenKind::Uint:
        unsignedInteger(value, *expr);
        break;
      case TokenKind::Double:
        real(value, negative, *expr);
        break;
      case TokenKind::String:
        expr->literal = Value::string(value.text);
        break;
      case TokenKind::Bytes:
        expr->literal = Value::bytes(value.text);
        break;
      default:
        if (is("true") || is("false")) {
          expr->literal = Value::boolean(is("true"));
        } else if (!is("null")) {
          expected("an expression");
          return expr;
        }
    }
    ++at_;
    return expr;
  }

  static bool parseNatural(std::string_view text, std::uint64_t& number) {
    const bool hex = text.starts_with("0x") || text.starts_with("0X");
    if (hex) text.remove_prefix(2);
    const auto [end, code] =
        std::from_chars(text.data(), text.data() + text.size(), number, hex ? 16 : 10);
    return code == std::errc() && end == text.data() + text.size();
  }
  void integer(const Token& token, bool negative, Expr& expr) {
    std::uint64_t number = 0;
    const std::uint64_t limit = (std::uint64_t{1} << 63) - (negative ? 0 : 1);
    if (!parseNatural(token.text, number) || number > limit)
      return error(token.position, "invalid int literal");
    expr.literal = Value::integer(static_cast<std::int64_t>(negative ? 0 - number : number));
  }
  void unsignedInteger(const Token& token, Expr& expr) {
    std::uint64_t number = 0;
    if (!parseNatural(token.text, number)) return error(token.position, "invalid uint literal");
    expr.literal = Value::unsignedInteger(number);
  }
  void real(const Token& token, bool negative, Expr& expr) {
    double number = 0;
    const auto [end, code] =
        std::from_chars(token.text.data(), token.text.data() + token.text.size(), number);
    if (code != std::errc() && number != 0) return error(token.position, "invalid double literal");
    if (code == std::errc::result_out_of_range && token.text.find('-') == std::string::npos)
      return error(token.position, "invalid double literal");
    expr.literal = Value::real(negative ? -number : number);
  }

  std::vector<Token> tokens_;
  const ParseOptions& options_;
  IssueList& issues_;
  std::size_t at_ = 0;
  int depth_ = 0;
  bool failed_ = false;
};

}  // namespace

ExprPtr parse(std::string_view text, const ParseOptions& options, IssueList& issues) {
  if (text.size() > options.limits.bytes) {
    issues.add(0, fmt::format("the expression has {} bytes, the limit is {}", text.size(),
                              options.limits.bytes));
    return nullptr;
  }
  if (!isUtf8(text)) {
    issues.add(0, "the expression is not valid UTF-8");
    return nullptr;
  }
  std::vector<Token> tokens = tokenize(text, issues);
  if (!issues.empty()) return nullptr;
  return Parser(std::move(tokens), options, issues).run();
}

}  // namespace koord::cel
