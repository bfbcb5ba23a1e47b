#include "base/json_path.h"

#include <algorithm>
#include <charconv>
#include <compare>
#include <iterator>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "base/split.h"

namespace koord {
namespace {

using Values = std::vector<const json::value*>;

// What names in filters and literals without quotes do not have.
constexpr std::string_view kNotInNames = " '\"[]()*@&|!<>=";

// The text of a literal: 'Ready', "Ready" or Ready; a backslash takes the next character as it is.
// nullopt if there is more than one literal.
std::optional<std::string> literalIn(std::string_view text) {
  const bool quoted = text.starts_with('\'') || text.starts_with('"');
  if (!quoted && (text.empty() || text.find_first_of(kNotInNames) != std::string_view::npos))
    return std::nullopt;
  std::string out;
  for (std::size_t i = quoted ? 1 : 0; i < text.size(); ++i) {
    if (quoted && text[i] == text.front())
      return i + 1 == text.size() ? std::optional(std::move(out)) : std::nullopt;
    if (text[i] == '\\' && i + 1 < text.size()) ++i;
    out += text[i];
  }
  return quoted ? std::nullopt : std::optional(std::move(out));
}

// A name up to the next part of the path, which is shortened by it; "\." is a dot in a name.
std::string takeName(std::string_view& path) {
  if (path.starts_with('.')) path.remove_prefix(1);
  std::string name;
  while (!path.empty() && path.front() != '.' && path.front() != '[') {
    if (path.front() == '\\' && path.size() > 1) path.remove_prefix(1);
    name += path.front();
    path.remove_prefix(1);
  }
  return name;
}

void addMembers(const json::value& value, Values& out) {
  if (const auto* array = value.if_array())
    for (const auto& item : *array) out.push_back(&item);
  if (const auto* object = value.if_object())
    for (const auto& member : *object) out.push_back(&member.value());
}

// A number of a slice; `absent` if the text is empty. A negative number counts from the end.
std::optional<std::int64_t> placeIn(std::string_view text, std::int64_t size, std::int64_t absent) {
  if (text.empty()) return absent;
  std::int64_t place = 0;
  const auto* const end = text.data() + text.size();
  if (const auto [at, error] = std::from_chars(text.data(), end, place);
      error != std::errc() || at != end)
    return std::nullopt;
  return std::clamp<std::int64_t>(place < 0 ? size + place : place, 0, size);
}

// "from:to", without the element `to`. Returns false if the text is something else.
bool selectSlice(const Values& from, std::string_view inside, Values& out) {
  const auto colon = inside.find(':');
  if (colon == std::string_view::npos) return false;
  const auto first = inside.substr(0, colon);
  const auto last = inside.substr(colon + 1);
  if (!placeIn(first, 0, 0) || !placeIn(last, 0, 0)) return false;
  for (const auto* value : from) {
    const auto* array = value->if_array();
    if (!array) continue;
    const auto size = static_cast<std::int64_t>(array->size());
    const auto end = *placeIn(last, size, size);
    for (auto i = *placeIn(first, size, 0); i < end; ++i)
      out.push_back(&(*array)[static_cast<std::size_t>(i)]);
  }
  return true;
}

// "*", "'name'", a slice, or a number, of which a negative one counts from the end. Returns false
// if it is none of these.
bool select(const Values& from, std::string_view inside, Values& out) {
  if (inside == "*") {
    for (const auto* value : from) addMembers(*value, out);
    return true;
  }
  if (inside.starts_with('\'') || inside.starts_with('"')) {
    const auto name = literalIn(inside);
    if (!name) return false;
    for (const auto* value : from)
      if (const auto* member = find(*value, *name)) out.push_back(member);
    return true;
  }
  std::int64_t index = 0;
  const auto* const end = inside.data() + inside.size();
  if (const auto [at, error] = std::from_chars(inside.data(), end, index);
      error != std::errc() || at != end)
    return selectSlice(from, inside, out);
  for (const auto* value : from) {
    const auto* array = value->if_array();
    if (!array) continue;
    const auto size = static_cast<std::int64_t>(array->size());
    const auto at = index < 0 ? size + index : index;
    if (at >= 0 && at < size) out.push_back(&(*array)[static_cast<std::size_t>(at)]);
  }
  return true;
}

// A string if it has quotes. Else null, true, false or a number if it reads as one, or a string.
json::value valueOf(std::string_view text, const std::string& literal) {
  const bool quoted = text.starts_with('\'') || text.starts_with('"');
  if (!quoted)
    if (auto parsed = parseJson(literal)) return *std::move(parsed);
  return json::string(literal);
}

// What stands between "[?(" and ")]": "@.type", which must be there, compared with a literal or
// not.
struct Filter {
  std::vector<std::string> names;  // lead to the member
  std::string_view sign;           // "" = no comparison
  json::value literal;
};

// nullopt if the text is more than one comparison of a member with a literal.
std::optional<Filter> parseFilter(std::string_view text) {
  Filter filter;
  const auto comparison = std::min(text.find_first_of("!<>="), text.size());
  auto member = trim(text.substr(0, comparison), " ");
  text.remove_prefix(comparison);
  if (!text.empty()) {
    filter.sign = text.substr(0, text.find_first_not_of("!<>="));
    constexpr std::string_view kSigns[] = {"==", "!=", "<", "<=", ">", ">="};
    const auto right = trim(text.substr(filter.sign.size()), " ");
    const auto literal = literalIn(right);
    if (!literal || std::ranges::find(kSigns, filter.sign) == std::end(kSigns)) return std::nullopt;
    filter.literal = valueOf(right, *literal);
  }
  if (member.starts_with('@')) {
    member.remove_prefix(1);
  } else if (member.empty()) {
    return std::nullopt;
  }
  if (member.find_first_of(kNotInNames) != std::string_view::npos) return std::nullopt;
  while (!member.empty()) {
    if (!member.starts_with('.')) return std::nullopt;
    if (filter.names.emplace_back(takeName(member)).empty()) return std::nullopt;
  }
  return filter;
}

// Numbers have the order of their values, strings that of their bytes. Other values, and a number
// and a string, have none.
std::partial_ordering orderOf(const json::value& value, const json::value& literal) {
  if (value.is_string() && literal.is_string())
    return std::string_view(value.get_string()) <=> std::string_view(literal.get_string());
  const auto left = realNumber(value), right = realNumber(literal);
  if (!left || !right) return std::partial_ordering::unordered;
  return *left <=> *right;
}

bool passes(const Filter& filter, const json::value& item) {
  const json::value* value = &item;
  for (const auto& name : filter.names)
    if (value = find(*value, name); !value) return false;
  if (filter.sign.empty()) return true;
  const auto order = orderOf(*value, filter.literal);
  if (filter.sign == "==" || filter.sign == "!=") {
    // Large integers differ although they are equal as doubles.
    const bool real = value->is_double() || filter.literal.is_double();
    return (real ? order == 0 : *value == filter.literal) == (filter.sign == "==");
  }
  if (order == 0) return filter.sign.ends_with('=');
  return filter.sign.starts_with('<') ? order < 0 : order > 0;
}

// Where `end` is in the path for the first time outside of quotes; npos if it is nowhere.
std::size_t findUnquoted(std::string_view path, std::string_view end) {
  char quote = 0;
  for (std::size_t i = 0; i < path.size(); ++i) {
    const char c = path[i];
    if (c == '\\') {
      ++i;
    } else if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else if (path.substr(i).starts_with(end)) {
      return i;
    }
  }
  return std::string_view::npos;
}

void select(const Values& from, const Filter& filter, Values& out) {
  for (const auto* value : from)
    if (const auto* array = value->if_array())
      for (const auto& item : *array)
        if (passes(filter, item)) out.push_back(&item);
}

// One part of the path, which is shortened by it. False: it is malformed.
bool step(const Values& from, std::string_view& path, Values& out) {
  if (path.starts_with("[?(")) {
    const auto end = findUnquoted(path, ")]");
    if (end == std::string_view::npos) return false;
    const auto filter = parseFilter(path.substr(3, end - 3));
    if (!filter) return false;
    select(from, *filter, out);
    path.remove_prefix(end + 2);
    return true;
  }
  if (path.starts_with('[')) {
    const auto end = findUnquoted(path, "]");
    if (end == std::string_view::npos || !select(from, path.substr(1, end - 1), out)) return false;
    path.remove_prefix(end + 1);
    return true;
  }
  const std::string name = takeName(path);
  if (name.empty()) {
    out = from;
    return path.empty() || path.front() == '[';
  }
  for (const auto* value : from) {
    if (name == "*") {
      addMembers(*value, out);
    } else if (const auto* member = find(*value, name)) {
      out.push_back(member);
    }
  }
  return true;
}

}  // namespace

Result<Values> jsonPath(const json::value& document, std::string_view path) {
  std::string_view rest = trim(path, " ");
  if (rest.starts_with('{') && rest.ends_with('}')) rest = rest.substr(1, rest.size() - 2);
  if (rest.starts_with('$')) rest.remove_prefix(1);
  Values values{&document};
  while (!rest.empty()) {
    Values next;
    if (!step(values, rest, next))
      return fail(
          ErrorCode::Invalid,
          fmt::format("{}: not a JSONPath of names, indices, slices, * and one comparison, as in "
                      "{{.status.conditions[?(@.type==\"Ready\")].status}}",
                      path));
    values = std::move(next);
  }
  return values;
}

}  // namespace koord
