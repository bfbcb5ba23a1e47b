#include "apiserver/rules/field_path.h"

namespace koord::apiserver {

using api::Schema;

namespace {

// Takes 'text' with its quotes off the path. nullopt if it is malformed.
std::optional<std::string> takeQuoted(std::string_view& path) {
  if (!path.starts_with('\'')) return std::nullopt;
  std::string out;
  for (std::size_t i = 1; i < path.size(); ++i) {
    char c = path[i];
    if (c == '\'') {
      path.remove_prefix(i + 1);
      return out;
    }
    if (c == '\\') {
      if (++i == path.size()) return std::nullopt;
      constexpr std::string_view kEscapes = "abfnrtv'\\", kMeaning = "\a\b\f\n\r\t\v'\\";
      const auto at = kEscapes.find(path[i]);
      if (at == std::string_view::npos) return std::nullopt;
      c = kMeaning[at];
    }
    out += c;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> normalizedFieldPath(std::string_view path, const Schema& schema) {
  const Schema* at = &schema;
  std::string out;
  while (!path.empty()) {
    std::string name;
    if (path.starts_with('[')) {
      path.remove_prefix(1);
      auto key = takeQuoted(path);
      if (!key || !path.starts_with(']')) return std::nullopt;
      path.remove_prefix(1);
      name = *std::move(key);
    } else if (path.starts_with('.')) {
      path.remove_prefix(1);
      const auto end = std::min(path.find_first_of(".[]"), path.size());
      name = path.substr(0, end);
      path.remove_prefix(end);
    } else {
      return std::nullopt;
    }
    if (at->type == Schema::Type::Map) {
      out += "[" + name + "]";
      at = at->items;
    } else {
      const auto* field = at->field(name);
      if (name.empty() || !field) return std::nullopt;
      out += (out.empty() ? "" : ".") + name;
      at = field->type;
    }
    if (!at) return path.empty() ? std::optional(out) : std::nullopt;
  }
  return out.empty() ? std::nullopt : std::optional(out);
}

}  // namespace koord::apiserver
