#include "base/json_path.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>

#include <fmt/format.h>

namespace koord {
namespace {

using Values = std::vector<const json::value*>;

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

// The text of a literal: 'Ready', "Ready" or Ready.
std::string unquoted(std::string_view text) {
  std::string out;
  for (const char c : text)
    if (c != '\'' && c != '"' && c != '\\') out += c;
  return out;
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

// "*", "'name'", a slice, or a number, of which a negative one counts from the end. Returns false if it is none of these.
bool select(const Values& from, std::string_view inside, Values& out) {
  if (inside == "*") {
    for (const auto* value : from) addMembers(*value, out);
    return true;
  }
  if (inside.starts_with('\'') || inside.starts_with('"')) {
    const std::string name = unquoted(inside);
    for (const auto* value : from)
      if (const auto* member = find(*value, name)) out.push_back(member);
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

// What stands between "[?(" and ")]": "@.type", which must be there, compared with a literal or not.
struct Filter {
  std::string_view member;
  std::optional<std::string> literal;
  bool equal = true;
};

Filter parseFilter(std::string_view text) {
  Filter filter{text, std::nullopt, true};
  for (const auto& [sign, equal] : {std::pair<const char*, bool>("==", true), {"!=", false}}) {
    const auto at = text.find(sign);
    if (at == std::string_view::npos) continue;
    filter = {text.substr(0, at), unquoted(trimmed(text.substr(at + 2))), equal};
    break;
  }
  filter.member = trimmed(filter.member);
  if (filter.member.starts_with('@')) filter.member.remove_prefix(1);
  return filter;
}

bool passes(const Filter& filter, const json::value& item) {
  const json::value* value = &item;
  for (auto path = filter.member; value && !path.empty();) value = find(*value, takeName(path));
  if (!value || !filter.literal) return value != nullptr;
  const std::string text = value->is_string() ? std::string(value->get_string()) : toJson(*value);
  return (text == *filter.literal) == filter.equal;
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
    const auto end = path.find(")]");
    if (end == std::string_view::npos) return false;
    select(from, parseFilter(path.substr(3, end - 3)), out);
    path.remove_prefix(end + 2);
    return true;
  }
  if (path.starts_with('[')) {
    const auto end = path.find(']');
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
  std::string_view rest = trimmed(path);
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
