#include <re2/re2.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <vector>

#include "base/ascii.h"
#include "base/utf8.h"
#include "cel/library/compiled_regex.h"
#include "scenario/jmespath_values.h"

// Functions with regular expressions. They follow Go's regexp, as Chainsaw does: in a replacement,
// $1 and ${1} are groups, $name and ${name} named ones, and $$ is a dollar sign. A group that does
// not exist is empty.

namespace koord::scenario::jmespath {
namespace {

using Args = std::span<const Argument>;
using Groups = std::vector<re2::StringPiece>;  // of one match; the first is the whole match

using cel::Regex;
using re2::RE2;

bool isNameCharacter(char c) {
  return c == '_' || isDigit(c) || isLower(c) || isUpper(c);
}

// Takes the group's name after a dollar sign; nullopt if there is none, and nothing is taken.
std::optional<std::string_view> takeGroupName(std::string_view& rest) {
  const bool braced = rest.starts_with('{');
  const std::string_view from = rest.substr(braced ? 1 : 0);
  const auto end = std::ranges::find_if_not(from, isNameCharacter);
  const std::string_view name(from.begin(), end);
  if (name.empty() || (braced && (end == from.end() || *end != '}'))) return std::nullopt;
  rest.remove_prefix(name.size() + (braced ? 2 : 0));
  return name;
}

class Replacement {
 public:
  Replacement(const RE2& expression, std::string_view text, bool literal)
      : expression_(expression), text_(text), literal_(literal) {}

  void append(std::string& out, const Groups& groups) const {
    if (literal_) {
      out += text_;
      return;
    }
    std::string_view rest = text_;
    for (auto dollar = rest.find('$'); dollar != rest.npos; dollar = rest.find('$')) {
      out += rest.substr(0, dollar);
      rest.remove_prefix(dollar + 1);
      if (rest.starts_with('$')) {
        out += '$';
        rest.remove_prefix(1);
      } else if (const auto name = takeGroupName(rest)) {
        const std::size_t group = groupNamed(*name);
        if (group < groups.size())
          out += std::string_view(groups[group].data(), groups[group].size());
      } else {
        out += '$';
      }
    }
    out += rest;
  }

 private:
  // npos if there is no such group, also for a number above 64 bits.
  std::size_t groupNamed(std::string_view name) const {
    std::size_t number = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
    const bool isNumber = error == std::errc() && end == name.data() + name.size();
    if (isNumber && (name.size() == 1 || name.front() != '0')) return number;
    const auto& names = expression_.NamedCapturingGroups();
    const auto it = names.find(std::string(name));
    return it == names.end() ? std::string::npos : static_cast<std::size_t>(it->second);
  }

  const RE2& expression_;
  std::string_view text_;
  bool literal_;
};

// nullopt if the result is too long. An empty match that touches the match before it does not
// count.
std::optional<std::string> replaced(const RE2& expression, std::string_view text,
                                    const Replacement& replacement) {
  std::string out;
  Groups groups(static_cast<std::size_t>(expression.NumberOfCapturingGroups()) + 1);
  std::size_t position = 0, copied = 0;
  while (position <= text.size() &&
         expression.Match(cel::asPiece(text), position, text.size(), RE2::UNANCHORED, groups.data(),
                          static_cast<int>(groups.size()))) {
    const auto begin = static_cast<std::size_t>(groups.front().data() - text.data());
    const std::size_t end = begin + groups.front().size();
    out += text.substr(copied, begin - copied);
    if (end > copied || begin == 0) replacement.append(out, groups);
    if (out.size() > kMaxEvaluatedBytes) return std::nullopt;
    copied = end;
    std::size_t step = 1;
    if (position < text.size())
      step = std::max(step, utf8CharacterAt(text.substr(position)).length);
    position = std::max(end, position + step);
  }
  out += text.substr(std::min(copied, text.size()));
  if (out.size() > kMaxEvaluatedBytes) return std::nullopt;
  return out;
}

Result<Regex> compile(const Arguments& arguments) {
  const auto pattern = arguments.text(0);
  if (!pattern) return fail(pattern.error());
  auto expression = cel::compileRegex(*pattern);
  if (!expression) return arguments.failure(expression.error().message);
  return expression;
}

Result<json::value> regexMatch(Args all, const Scope&) {
  const Arguments arguments("regex_match", all);
  const auto expression = compile(arguments);
  if (!expression) return fail(expression.error());
  if (!arguments[1].is_string() && !isNumber(arguments[1]))
    return arguments.wrong(1, "a string or a number");
  return json::value(RE2::PartialMatch(plainText(arguments[1]), **expression));
}

Result<json::value> regexReplaced(const Arguments& arguments, bool literal) {
  const auto expression = compile(arguments);
  if (!expression) return fail(expression.error());
  const std::string replacement = plainText(arguments[2]);
  const auto result = replaced(**expression, plainText(arguments[1]),
                               Replacement(**expression, replacement, literal));
  if (!result) return arguments.failure("the result is too long");
  return textValue(*result);
}
Result<json::value> regexReplaceAll(Args all, const Scope&) {
  return regexReplaced(Arguments("regex_replace_all", all), false);
}
Result<json::value> regexReplaceAllLiteral(Args all, const Scope&) {
  return regexReplaced(Arguments("regex_replace_all_literal", all), true);
}

constexpr FunctionEntry kRegexFunctions[] = {
    {"regex_match", 2, 2, regexMatch},
    {"regex_replace_all", 3, 3, regexReplaceAll},
    {"regex_replace_all_literal", 3, 3, regexReplaceAllLiteral},
};

}  // namespace

std::span<const FunctionEntry> regexFunctions() {
  return kRegexFunctions;
}

}  // namespace koord::scenario::jmespath
