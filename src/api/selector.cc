#include "api/selector.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "api/names.h"

namespace koord::api {
namespace {

using Op = Selector::Op;

std::optional<std::int64_t> toInteger(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  std::int64_t value = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (ec != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool isBlank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}
bool isSymbol(char c) {
  return c == '=' || c == '!' || c == '(' || c == ')' || c == ',' || c == '>' || c == '<';
}

enum class Token {
  Error,
  End,
  Close,
  Comma,
  Not,
  DoubleEquals,
  Equals,
  Greater,
  Word,
  In,
  Less,
  NotEquals,
  NotIn,
  Open,
};

struct Scanned {
  Token token = Token::Error;
  std::string_view text;
};

Token tokenOf(std::string_view text) {
  static constexpr std::pair<std::string_view, Token> kTokens[] = {
      {")", Token::Close},         {",", Token::Comma},     {"!", Token::Not},
      {"==", Token::DoubleEquals}, {"=", Token::Equals},    {"in", Token::In},
      {">", Token::Greater},       {"<", Token::Less},      {"(", Token::Open},
      {"notin", Token::NotIn},     {"!=", Token::NotEquals}};
  for (const auto& [name, token] : kTokens)
    if (name == text) return token;
  return Token::Error;
}

std::vector<Scanned> scan(std::string_view text) {
  std::vector<Scanned> out;
  std::size_t at = 0;
  while (true) {
    while (at < text.size() && isBlank(text[at])) ++at;
    if (at == text.size()) break;
    const std::size_t start = at;
    if (isSymbol(text[at])) {
      // The longest run of symbols that is still a token; a run that never is one is an error.
      Scanned last;
      while (at < text.size() && isSymbol(text[at])) {
        const auto run = text.substr(start, at + 1 - start);
        if (const Token token = tokenOf(run); token != Token::Error) {
          last = {token, run};
        } else if (last.token != Token::Error) {
          break;
        }
        ++at;
      }
      if (last.token == Token::Error) last.text = text.substr(start, at - start);
      out.push_back(last);
    } else {
      while (at < text.size() && !isSymbol(text[at]) && !isBlank(text[at])) ++at;
      const auto word = text.substr(start, at - start);
      const Token token = tokenOf(word);
      out.push_back({token == Token::Error ? Token::Word : token, word});
    }
  }
  out.push_back({Token::End, ""});
  return out;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : items_(scan(text)) {}

  Result<std::vector<Selector::Requirement>> run() {
    std::vector<Selector::Requirement> out;
    while (true) {
      const auto [token, text] = peek();
      if (token == Token::End) return out;
      if (token != Token::Word && token != Token::Not)
        return wrong(text, "!, identifier, or 'end of string'");
      auto requirement = parseRequirement();
      if (!requirement)
        return fail(std::move(requirement.error()).within("unable to parse requirement"));
      out.push_back(*std::move(requirement));
      const auto next = take();
      if (next.token == Token::End) return out;
      if (next.token != Token::Comma) return wrong(next.text, "',' or 'end of string'");
      const auto after = peek();
      if (after.token != Token::Word && after.token != Token::Not)
        return wrong(after.text, "identifier after ','");
    }
  }

 private:
  // "in" and "notin" are words wherever an operator cannot stand.
  static Scanned asValue(Scanned item) {
    if (item.token == Token::In || item.token == Token::NotIn) item.token = Token::Word;
    return item;
  }
  Scanned raw(std::size_t at) const { return items_[std::min(at, items_.size() - 1)]; }
  Scanned peek() const { return asValue(raw(at_)); }
  Scanned take() { return asValue(raw(at_++)); }
  Scanned takeOperator() { return raw(at_++); }

  static std::unexpected<Error> wrong(std::string_view found, std::string_view expected) {
    return fail(ErrorCode::BadRequest, fmt::format("found '{}', expected: {}", found, expected));
  }

  Result<Selector::Requirement> parseRequirement() {
    auto item = take();
    const bool negated = item.token == Token::Not;
    if (negated) item = take();
    if (item.token != Token::Word) return wrong(item.text, "identifier");
    const std::string key(item.text);
    const auto next = peek().token;
    if (negated) return Selector::requirement(key, Op::DoesNotExist, {});
    if (next == Token::End || next == Token::Comma)
      return Selector::requirement(key, Op::Exists, {});
    if (const auto bad = checkQualifiedName(key); !bad.empty())
      return fail(ErrorCode::BadRequest, fmt::format("key: Invalid value: \"{}\": {}", key, bad));

    const auto op = takeOperator();
    switch (op.token) {
      case Token::In:
      case Token::NotIn: {
        auto values = parseValues();
        if (!values) return fail(std::move(values.error()));
        return Selector::requirement(key, op.token == Token::In ? Op::In : Op::NotIn,
                                     *std::move(values));
      }
      case Token::Equals:
        return exact(key, Op::Equals);
      case Token::DoubleEquals:
        return exact(key, Op::DoubleEquals);
      case Token::NotEquals:
        return exact(key, Op::NotEquals);
      case Token::Greater:
        return exact(key, Op::GreaterThan);
      case Token::Less:
        return exact(key, Op::LessThan);
      default:
        return wrong(op.text, "in, notin, =, ==, !=, gt, lt");
    }
  }

  Result<Selector::Requirement> exact(const std::string& key, Op op) {
    const auto next = peek();
    if (next.token == Token::End || next.token == Token::Comma)
      return Selector::requirement(key, op, {""});
    const auto value = take();
    if (value.token != Token::Word) return wrong(value.text, "identifier");
    return Selector::requirement(key, op, {std::string(value.text)});
  }

  Result<std::vector<std::string>> parseValues() {
    std::vector<std::string> values;
    if (const auto open = take(); open.token != Token::Open) return wrong(open.text, "'('");
    const auto first = peek();
    if (first.token == Token::Close) {  // "()" is the one value ""
      take();
      values.emplace_back();
      return values;
    }
    if (first.token != Token::Word && first.token != Token::Comma)
      return wrong(first.text, "',', ')' or identifier");
    while (true) {
      const auto item = take();
      const auto next = peek();
      if (item.token == Token::Word) {
        values.emplace_back(item.text);
        if (next.token == Token::Close) break;
        if (next.token != Token::Comma) return wrong(next.text, "',' or ')'");
      } else if (item.token == Token::Comma) {
        if (values.empty()) values.emplace_back();  // "(,a)"
        if (next.token == Token::Close) {           // "(a,)"
          values.emplace_back();
          break;
        }
        if (next.token == Token::Comma) values.emplace_back();  // "(a,,b)"
      } else {
        return wrong(item.text, "',', or identifier");
      }
    }
    take();
    std::ranges::sort(values);
    values.erase(std::unique(values.begin(), values.end()), values.end());
    return values;
  }

  std::vector<Scanned> items_;
  std::size_t at_ = 0;
};

}  // namespace

bool Selector::Requirement::matches(const StringMap& labels) const {
  const auto it = labels.find(key);
  const bool has = it != labels.end();
  switch (op) {
    case Op::In:
    case Op::Equals:
    case Op::DoubleEquals:
      return has && std::ranges::find(values, it->second) != values.end();
    case Op::NotIn:
    case Op::NotEquals:
      return !has || std::ranges::find(values, it->second) == values.end();
    case Op::Exists:
      return has;
    case Op::DoesNotExist:
      return !has;
    case Op::GreaterThan:
    case Op::LessThan: {
      if (!has) return false;
      const auto number = toInteger(it->second);
      return number && (op == Op::GreaterThan ? *number > bound : *number < bound);
    }
  }
  return false;
}

std::string Selector::Requirement::toString() const {
  const auto list = [&] {
    auto sorted = values;
    std::ranges::sort(sorted);
    return fmt::format("{}", fmt::join(sorted, ","));
  };
  switch (op) {
    case Op::In:
      return key + " in (" + list() + ")";
    case Op::NotIn:
      return key + " notin (" + list() + ")";
    case Op::Equals:
      return key + "=" + list();
    case Op::DoubleEquals:
      return key + "==" + list();
    case Op::NotEquals:
      return key + "!=" + list();
    case Op::GreaterThan:
      return key + ">" + list();
    case Op::LessThan:
      return key + "<" + list();
    case Op::Exists:
      return key;
    case Op::DoesNotExist:
      return "!" + key;
  }
  return key;
}

Selector Selector::nothing() {
  Selector selector;
  selector.nothing_ = true;
  return selector;
}

Selector Selector::ofLabels(const StringMap& labels) {
  Selector selector;
  for (const auto& [key, value] : labels)
    selector.requirements_.push_back({key, Op::Equals, {value}, 0});
  return selector;
}

Result<Selector::Requirement> Selector::requirement(std::string key, Op op,
                                                    std::vector<std::string> values) {
  const auto bad = [&](std::string_view field, std::string_view value, std::string_view why) {
    return fail(ErrorCode::BadRequest,
                fmt::format("{}: Invalid value: \"{}\": {}", field, value, why));
  };
  if (const auto wrong = checkQualifiedName(key); !wrong.empty()) return bad("key", key, wrong);
  Requirement out{std::move(key), op, std::move(values), 0};
  const auto printed = [&] { return fmt::format("{}", fmt::join(out.values, ",")); };
  switch (op) {
    case Op::In:
    case Op::NotIn:
      if (out.values.empty())
        return bad("values", "", "for 'in', 'notin' operators, values set can't be empty");
      break;
    case Op::Equals:
    case Op::DoubleEquals:
    case Op::NotEquals:
      if (out.values.size() != 1)
        return bad("values", printed(), "exact-match compatibility requires one single value");
      break;
    case Op::Exists:
    case Op::DoesNotExist:
      if (!out.values.empty())
        return bad("values", printed(), "values set must be empty for exists and does not exist");
      break;
    case Op::GreaterThan:
    case Op::LessThan: {
      if (out.values.size() != 1)
        return bad("values", printed(), "for 'Gt', 'Lt' operators, exactly one value is required");
      const auto bound = toInteger(out.values[0]);
      if (!bound)
        return bad("values[0]", out.values[0],
                   "for 'Gt', 'Lt' operators, the value must be an integer");
      out.bound = *bound;
      break;
    }
  }
  for (std::size_t i = 0; i < out.values.size(); ++i)
    if (const auto wrong = checkLabelValue(out.values[i]); !wrong.empty())
      return bad(fmt::format("values[{}][{}]", i, out.key), out.values[i], wrong);
  return out;
}

void Selector::sort() {
  std::ranges::stable_sort(requirements_, {}, &Requirement::key);
}

Result<Selector> Selector::of(std::vector<Requirement> requirements) {
  Selector selector;
  selector.requirements_ = std::move(requirements);
  selector.sort();
  return selector;
}

Result<Selector> Selector::parse(std::string_view text) {
  auto requirements = Parser(text).run();
  if (!requirements) return fail(std::move(requirements.error()));
  return of(*std::move(requirements));
}

Result<Selector> Selector::compile(const LabelSelector& selector) {
  std::vector<Requirement> requirements;
  for (const auto& [key, value] : selector.matchLabels) {
    auto requirement = Selector::requirement(key, Op::Equals, {value});
    if (!requirement) return fail(std::move(requirement.error()).within("matchLabels"));
    requirements.push_back(*std::move(requirement));
  }
  for (std::size_t i = 0; i < selector.matchExpressions.size(); ++i) {
    const auto& expression = selector.matchExpressions[i];
    Op op;
    if (expression.operator_ == "In") {
      op = Op::In;
    } else if (expression.operator_ == "NotIn") {
      op = Op::NotIn;
    } else if (expression.operator_ == "Exists") {
      op = Op::Exists;
    } else if (expression.operator_ == "DoesNotExist") {
      op = Op::DoesNotExist;
    } else {
      return fail(
          ErrorCode::BadRequest,
          fmt::format(
              "matchExpressions[{}].operator: \"{}\" is not a valid label selector operator", i,
              expression.operator_));
    }
    auto requirement = Selector::requirement(expression.key, op,
                                             {expression.values.begin(), expression.values.end()});
    if (!requirement)
      return fail(std::move(requirement.error()).within(fmt::format("matchExpressions[{}]", i)));
    requirements.push_back(*std::move(requirement));
  }
  return of(std::move(requirements));
}

Result<Selector> Selector::compile(const std::optional<LabelSelector>& selector) {
  if (!selector) return nothing();
  return compile(*selector);
}

std::string Selector::toString() const {
  std::string out;
  for (const auto& requirement : requirements_) {
    if (!out.empty()) out += ',';
    out += requirement.toString();
  }
  return out;
}

}  // namespace koord::api
