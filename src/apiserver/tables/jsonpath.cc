#include <charconv>
#include <string>

#include "apiserver/tables/tables.h"

namespace koord::apiserver {
namespace {

using Values = std::vector<const json::value*>;

std::string unquote(std::string_view text) {
  std::string out;
  for (const char c : text)
    if (c != '\'' && c != '"' && c != '\\') out += c;
  return out;
}

const json::value* walk(const json::value& from, std::string_view path) {
  const json::value* value = &from;
  while (value && !path.empty()) {
    if (path.front() == '.') path.remove_prefix(1);
    const auto dot = path.find('.');
    value = find(*value, path.substr(0, dot));
    path = dot == std::string_view::npos ? std::string_view{} : path.substr(dot);
  }
  return value;
}

// [?(@.type=="Ready")]: the elements for which the comparison holds.
void filter(const Values& in, std::string_view expression, Values& out) {
  bool equal = true;
  auto at = expression.find("==");
  if (at == std::string_view::npos) {
    at = expression.find("!=");
    equal = false;
  }
  auto left = expression.substr(0, at);
  while (!left.empty() && left.back() == ' ') left.remove_suffix(1);
  if (left.starts_with('@')) left.remove_prefix(1);
  std::string right;
  if (at != std::string_view::npos) {
    auto rest = expression.substr(at + 2);
    while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
    right = unquote(rest);
  }
  for (const auto* list : in) {
    const auto* array = list->if_array();
    if (!array) continue;
    for (const auto& item : *array) {
      const auto* value = walk(item, left);
      if (!value) continue;
      const std::string text =
          value->is_string() ? std::string(value->get_string()) : toJson(*value);
      if (at == std::string_view::npos || (text == right) == equal) out.push_back(&item);
    }
  }
}

void element(const Values& in, std::string_view inside, Values& out) {
  for (const auto* value : in) {
    if (inside == "*") {
      if (const auto* array = value->if_array())
        for (const auto& item : *array) out.push_back(&item);
      if (const auto* object = value->if_object())
        for (const auto& member : *object) out.push_back(&member.value());
    } else if (inside.front() == '\'' || inside.front() == '"') {
      if (const auto* member = find(*value, unquote(inside))) out.push_back(member);
    } else if (const auto* array = value->if_array()) {
      long index = 0;
      std::from_chars(inside.data(), inside.data() + inside.size(), index);
      if (index < 0) index += static_cast<long>(array->size());
      if (index >= 0 && index < static_cast<long>(array->size()))
        out.push_back(&(*array)[static_cast<std::size_t>(index)]);
    }
  }
}

}  // namespace

Values jsonPath(const json::value& object, std::string_view path) {
  if (path.starts_with('{') && path.ends_with('}')) path = path.substr(1, path.size() - 2);
  if (path.starts_with('$')) path.remove_prefix(1);
  Values values{&object};
  while (!path.empty() && !values.empty()) {
    Values next;
    if (path.front() == '[') {
      const bool filtered = path.starts_with("[?(");
      const auto end = path.find(filtered ? ")]" : "]");
      if (end == std::string_view::npos) return {};
      if (filtered) {
        filter(values, path.substr(3, end - 3), next);
      } else if (end > 1) {
        element(values, path.substr(1, end - 1), next);
      }
      path.remove_prefix(end + (filtered ? 2 : 1));
    } else {
      if (path.front() == '.') path.remove_prefix(1);
      // "\." is a dot in a name.
      std::string name;
      while (!path.empty() && path.front() != '.' && path.front() != '[') {
        if (path.front() == '\\' && path.size() > 1) path.remove_prefix(1);
        name += path.front();
        path.remove_prefix(1);
      }
      if (name.empty()) continue;
      if (name == "*") {
        element(values, "*", next);
      } else {
        for (const auto* value : values)
          if (const auto* member = find(*value, name)) next.push_back(member);
      }
    }
    values = std::move(next);
  }
  return values;
}

}  // namespace koord::apiserver
