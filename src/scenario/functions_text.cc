#include <algorithm>

#include <fmt/format.h>

#include "scenario/jmespath_values.h"

// Functions on text.

namespace koord::scenario::jmespath {
namespace {

using Args = std::span<const Argument>;

Result<json::value> startsWith(Args all, const Scope&) {
  const Arguments arguments("starts_with", all);
  const auto text = arguments.text(0);
  if (!text) return fail(text.error());
  const auto prefix = arguments.text(1);
  if (!prefix) return fail(prefix.error());
  return json::value(text->starts_with(*prefix));
}

Result<json::value> endsWith(Args all, const Scope&) {
  const Arguments arguments("ends_with", all);
  const auto text = arguments.text(0);
  if (!text) return fail(text.error());
  const auto suffix = arguments.text(1);
  if (!suffix) return fail(suffix.error());
  return json::value(text->ends_with(*suffix));
}

Result<json::value> join(Args all, const Scope& scope) {
  const Arguments arguments("join", all);
  const auto glue = arguments.text(0);
  if (!glue) return fail(glue.error());
  const auto array = arguments.array(1);
  if (!array) return fail(array.error());
  if (auto good = scope.budget.charge(glue->size() * (*array)->size()); !good)
    return arguments.failure(good.error().message);
  std::string result;
  bool first = true;
  for (const auto& item : **array) {
    if (!item.is_string()) return arguments.wrong(1, "an array of strings");
    if (!first) result += *glue;
    first = false;
    result += textOf(item);
  }
  return textValue(result);
}

Result<json::value> concat(Args all, const Scope&) {
  const Arguments arguments("concat", all);
  const auto a = arguments.text(0);
  if (!a) return fail(a.error());
  const auto b = arguments.text(1);
  if (!b) return fail(b.error());
  return textValue(std::string(*a) + std::string(*b));
}

// Changes ASCII letters only; names in Kubernetes have no others.
Result<json::value> mapped(const Arguments& arguments, char from, char to, int shift) {
  const auto text = arguments.text(0);
  if (!text) return fail(text.error());
  std::string result(*text);
  for (char& c : result) {
    if (c >= from && c <= to) c = static_cast<char>(c + shift);
  }
  return textValue(result);
}
Result<json::value> lower(Args all, const Scope&) {
  return mapped(Arguments("lower", all), 'A', 'Z', 32);
}
Result<json::value> upper(Args all, const Scope&) {
  return mapped(Arguments("upper", all), 'a', 'z', -32);
}

Result<json::value> equalFold(Args all, const Scope&) {
  const auto a = mapped(Arguments("equal_fold", all), 'A', 'Z', 32);
  if (!a) return a;
  const auto b = mapped(Arguments("equal_fold", all.subspan(1)), 'A', 'Z', 32);
  if (!b) return b;
  return json::value(*a == *b);
}

Result<json::value> compare(Args all, const Scope&) {
  const Arguments arguments("compare", all);
  const auto a = arguments.text(0);
  if (!a) return fail(a.error());
  const auto b = arguments.text(1);
  if (!b) return fail(b.error());
  return json::value(*order(arguments[0], arguments[1]));
}

constexpr std::string_view kBlanks =
    " \t\n\v\f\r\u0085\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009"
    "\u200a\u2028\u2029\u202f\u205f\u3000";

enum Side { Left = 1, Right = 2, Both = 3 };

Result<json::value> trimmed(const Arguments& arguments, Side side) {
  const auto text = arguments.text(0);
  if (!text) return fail(text.error());
  std::string_view set = kBlanks;
  if (arguments.size() > 1) {
    const auto given = arguments.text(1);
    if (!given) return fail(given.error());
    if (!given->empty()) set = *given;
  }
  const auto drop = charactersOf(set);
  const auto characters = charactersOf(*text);
  const auto isDropped = [&](std::string_view c) {
    return std::find(drop.begin(), drop.end(), c) != drop.end();
  };
  auto first = characters.begin();
  auto last = characters.end();
  while ((side & Left) && first != last && isDropped(*first)) ++first;
  while ((side & Right) && first != last && isDropped(*std::prev(last))) --last;
  std::string result;
  for (; first != last; ++first) result += *first;
  return textValue(result);
}

Result<json::value> trim(Args all, const Scope&) {
  return trimmed(Arguments("trim", all), Both);
}
Result<json::value> trimLeft(Args all, const Scope&) {
  return trimmed(Arguments("trim_left", all), Left);
}
Result<json::value> trimRight(Args all, const Scope&) {
  return trimmed(Arguments("trim_right", all), Right);
}
Result<json::value> trimSpace(Args all, const Scope&) {
  return trimmed(Arguments("trim_space", all), Both);
}

Result<json::value> trimPrefix(Args all, const Scope&) {
  const Arguments arguments("trim_prefix", all);
  auto text = arguments.text(0);
  if (!text) return fail(text.error());
  const auto prefix = arguments.text(1);
  if (!prefix) return fail(prefix.error());
  if (text->starts_with(*prefix)) text->remove_prefix(prefix->size());
  return textValue(*text);
}

// The optional maximum at position i; none means no limit.
Result<std::int64_t> countAt(const Arguments& arguments, std::size_t i, bool negativeMeansAll) {
  if (arguments.size() <= i) return std::int64_t{-1};
  const auto count = arguments.integer(i);
  if (count && *count < 0 && !negativeMeansAll)
    return arguments.wrong(i, "an integer of 0 or more");
  return count;
}

Result<json::value> split(Args all, const Scope&) {
  const Arguments arguments("split", all);
  const auto text = arguments.text(0);
  if (!text) return fail(text.error());
  const auto separator = arguments.text(1);
  if (!separator) return fail(separator.error());
  auto limit = countAt(arguments, 2, false);
  if (!limit) return fail(limit.error());
  json::array result;
  if (separator->empty()) {
    const auto characters = charactersOf(*text);
    std::size_t i = 0;
    for (; i < characters.size() && (*limit < 0 || static_cast<std::int64_t>(i) < *limit); ++i) {
      result.push_back(textValue(characters[i]));
    }
    if (i < characters.size()) {
      const auto from = static_cast<std::size_t>(characters[i].data() - text->data());
      result.push_back(textValue(text->substr(from)));
    }
    return json::value(std::move(result));
  }
  std::string_view rest = *text;
  for (std::int64_t i = 0; *limit < 0 || i < *limit; ++i) {
    const auto at = rest.find(*separator);
    if (at == std::string_view::npos) break;
    result.push_back(textValue(rest.substr(0, at)));
    rest.remove_prefix(at + separator->size());
  }
  result.push_back(textValue(rest));
  return json::value(std::move(result));
}

Result<json::value> replaced(const Arguments& arguments, const Scope& scope,
                             bool negativeMeansAll) {
  const auto text = arguments.text(0);
  if (!text) return fail(text.error());
  const auto old = arguments.text(1);
  if (!old) return fail(old.error());
  const auto fresh = arguments.text(2);
  if (!fresh) return fail(fresh.error());
  const auto limit = countAt(arguments, 3, negativeMeansAll);
  if (!limit) return fail(limit.error());
  if (old->empty()) return textValue(*text);
  std::string result;
  std::string_view rest = *text;
  for (std::int64_t i = 0; *limit < 0 || i < *limit; ++i) {
    const auto at = rest.find(*old);
    if (at == std::string_view::npos) break;
    if (auto good = scope.budget.charge(at + fresh->size()); !good)
      return arguments.failure(good.error().message);
    result += rest.substr(0, at);
    result += *fresh;
    rest.remove_prefix(at + old->size());
  }
  result += rest;
  return textValue(result);
}
Result<json::value> replace(Args all, const Scope& scope) {
  return replaced(Arguments("replace", all), scope, false);
}
Result<json::value> replaceAll(Args all, const Scope& scope) {
  return replaced(Arguments("replace_all", all), scope, false);
}

Result<json::value> found(const Arguments& arguments, bool last) {
  const auto text = arguments.text(0);
  if (!text) return fail(text.error());
  const auto part = arguments.text(1);
  if (!part) return fail(part.error());
  const auto characters = charactersOf(*text);
  const auto size = static_cast<std::int64_t>(characters.size());
  std::int64_t bounds[2] = {0, size};
  for (std::size_t i = 2; i < arguments.size(); ++i) {
    const auto bound = arguments.integer(i);
    if (!bound) return fail(bound.error());
    bounds[i - 2] = std::clamp(*bound < 0 ? *bound + size : *bound, std::int64_t{0}, size);
  }
  const auto wanted = static_cast<std::int64_t>(charactersOf(*part).size());
  if (text->empty() || wanted == 0) return json::value(nullptr);
  json::value result;
  for (std::int64_t i = bounds[0]; i + wanted <= bounds[1]; ++i) {
    const auto offset =
        static_cast<std::size_t>(characters[static_cast<std::size_t>(i)].data() - text->data());
    if (!text->substr(offset).starts_with(*part)) continue;
    result = i;
    if (!last) break;
  }
  return result;
}
Result<json::value> findFirst(Args all, const Scope&) {
  return found(Arguments("find_first", all), false);
}
Result<json::value> findLast(Args all, const Scope&) {
  return found(Arguments("find_last", all), true);
}

Result<json::value> padded(const Arguments& arguments, bool left) {
  const auto text = arguments.text(0);
  if (!text) return fail(text.error());
  const auto width = arguments.integer(1);
  if (!width) return fail(width.error());
  if (*width < 0 || *width > 1'000'000) return arguments.wrong(1, "an integer from 0 to 1000000");
  std::string_view pad = " ";
  if (arguments.size() > 2) {
    const auto given = arguments.text(2);
    if (!given) return fail(given.error());
    if (charactersOf(*given).size() != 1)
      return arguments.failure("the padding must be one character");
    pad = *given;
  }
  std::string padding;
  for (auto i = static_cast<std::int64_t>(charactersOf(*text).size()); i < *width; ++i)
    padding += pad;
  return textValue(left ? padding + std::string(*text) : std::string(*text) + padding);
}
Result<json::value> padLeft(Args all, const Scope&) {
  return padded(Arguments("pad_left", all), true);
}
Result<json::value> padRight(Args all, const Scope&) {
  return padded(Arguments("pad_right", all), false);
}

Result<json::value> truncate(Args all, const Scope&) {
  const Arguments arguments("truncate", all);
  const auto text = arguments.text(0);
  if (!text) return fail(text.error());
  const auto length = arguments.integer(1);
  if (!length) return fail(length.error());
  const auto characters = charactersOf(*text);
  std::string result;
  for (std::size_t i = 0; i < characters.size() && static_cast<std::int64_t>(i) < *length; ++i) {
    result += characters[i];
  }
  return textValue(result);
}

// "*" stands for any text, "?" for one character.
bool wildcardMatches(std::string_view pattern, std::string_view text) {
  std::size_t p = 0, t = 0, star = std::string_view::npos, resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

Result<json::value> wildcard(Args all, const Scope&) {
  const Arguments arguments("wildcard", all);
  const auto pattern = arguments.text(0);
  if (!pattern) return fail(pattern.error());
  if (!arguments[1].is_string() && !isNumber(arguments[1])) {
    return arguments.wrong(1, "a string or a number");
  }
  return json::value(wildcardMatches(*pattern, plainText(arguments[1])));
}

constexpr FunctionEntry kTextFunctions[] = {
    {"compare", 2, 2, compare},
    {"concat", 2, 2, concat},
    {"ends_with", 2, 2, endsWith},
    {"equal_fold", 2, 2, equalFold},
    {"find_first", 2, 4, findFirst},
    {"find_last", 2, 4, findLast},
    {"join", 2, 2, join},
    {"lower", 1, 1, lower},
    {"pad_left", 2, 3, padLeft},
    {"pad_right", 2, 3, padRight},
    {"pattern_match", 2, 2, wildcard},
    {"replace", 3, 4, replace},
    {"replace_all", 3, 3, replaceAll},
    {"split", 2, 3, split},
    {"starts_with", 2, 2, startsWith},
    {"to_lower", 1, 1, lower},
    {"to_upper", 1, 1, upper},
    {"trim", 1, 2, trim},
    {"trim_left", 1, 2, trimLeft},
    {"trim_prefix", 2, 2, trimPrefix},
    {"trim_right", 1, 2, trimRight},
    {"trim_space", 1, 1, trimSpace},
    {"truncate", 2, 2, truncate},
    {"upper", 1, 1, upper},
    {"wildcard", 2, 2, wildcard},
};

}  // namespace

std::span<const FunctionEntry> textFunctions() {
  return kTextFunctions;
}

}  // namespace koord::scenario::jmespath
