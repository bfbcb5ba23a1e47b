#include "api/patch/json_patch.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

namespace koord::api {
namespace {

constexpr std::size_t kMaxOperations = 10'000;

std::unexpected<Error> broken(std::string_view op, std::string_view path, std::string_view why) {
  return fail(ErrorCode::Invalid,
              fmt::format("{} operation does not apply: path \"{}\": {}", op, path, why));
}

std::string unescape(std::string_view token) {
  std::string out;
  for (std::size_t i = 0; i < token.size(); ++i) {
    if (token[i] == '~' && i + 1 < token.size() && (token[i + 1] == '0' || token[i + 1] == '1')) {
      out += token[++i] == '0' ? '~' : '/';
    } else {
      out += token[i];
    }
  }
  return out;
}

std::optional<std::int64_t> toIndex(std::string_view text) {
  if (text.starts_with('+')) {
    text.remove_prefix(1);
    if (text.starts_with('-')) return std::nullopt;
  }
  std::int64_t value = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (ec != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// An object or list, and the name of one place in it.
struct Place {
  json::value* container = nullptr;
  std::string key;
};

// nullptr container when a part of the path on the way is missing or is no container.
Place locate(json::value& document, std::string_view path) {
  const auto first = path.find('/');
  if (first == std::string_view::npos) return {};
  auto rest = path.substr(first + 1);
  json::value* at = &document;
  while (true) {
    if (!at->is_object() && !at->is_array()) return {};
    const auto slash = rest.find('/');
    const std::string token = unescape(rest.substr(0, slash));
    if (slash == std::string_view::npos) return {at, token};
    rest = rest.substr(slash + 1);
    if (auto* object = at->if_object()) {
      at = object->if_contains(token);
    } else {
      auto& array = at->get_array();
      auto index = toIndex(token);
      const auto size = static_cast<std::int64_t>(array.size());
      if (index && *index < 0) *index += size;
      at = index && *index >= 0 && *index < size ? &array[static_cast<std::size_t>(*index)]
                                                 : nullptr;
    }
    if (!at) return {};
  }
}

// The index of an existing element.
Result<std::size_t> elementOf(const json::array& array, std::string_view op, const Place& place) {
  auto index = toIndex(place.key);
  const auto size = static_cast<std::int64_t>(array.size());
  if (index && *index < 0) *index += size;
  if (!index || *index < 0 || *index >= size) return broken(op, place.key, "invalid index");
  return static_cast<std::size_t>(*index);
}

// nullptr is what a missing member of an object reads as.
Result<const json::value*> get(std::string_view op, const Place& place) {
  if (auto* object = place.container->if_object()) return object->if_contains(place.key);
  auto& array = place.container->get_array();
  const auto index = elementOf(array, op, place);
  if (!index) return fail(index.error());
  return &array[*index];
}

Result<> add(std::string_view op, const Place& place, json::value value) {
  if (auto* object = place.container->if_object()) {
    (*object)[place.key] = std::move(value);
    return {};
  }
  auto& array = place.container->get_array();
  if (place.key == "-") {
    array.push_back(std::move(value));
    return {};
  }
  auto index = toIndex(place.key);
  const auto places = static_cast<std::int64_t>(array.size()) + 1;
  if (index && *index < 0) *index += places;
  if (!index || *index < 0 || *index >= places) return broken(op, place.key, "invalid index");
  array.insert(array.begin() + *index, std::move(value));
  return {};
}

Result<> remove(std::string_view op, const Place& place) {
  if (auto* object = place.container->if_object()) {
    const auto it = object->find(place.key);
    if (it == object->end()) return broken(op, place.key, "unable to remove nonexistent key");
    object->stable_erase(it);
    return {};
  }
  auto& array = place.container->get_array();
  const auto index = elementOf(array, op, place);
  if (!index) return fail(index.error());
  array.erase(array.begin() + static_cast<std::ptrdiff_t>(*index));
  return {};
}

Result<> applyOne(json::value& document, const json::value& operation) {
  if (!operation.is_object()) return fail(ErrorCode::BadRequest, "an operation must be an object");
  const std::string op(textAt(operation, "op"));
  const auto* pathMember = find(operation, "path");
  if (!pathMember || !pathMember->is_string())
    return fail(ErrorCode::BadRequest, fmt::format("{} operation: path is missing", op));
  const std::string path(textAt(operation, "path"));
  const auto* member = find(operation, "value");
  const json::value value = member ? *member : json::value(nullptr);
  const auto missing = [&](std::string_view what) { return broken(op, what, "missing value"); };

  if (op == "test" && path.empty()) {
    if (document == value) return {};
    return broken(op, path, "testing value failed");
  }
  if (op == "replace" && path.empty()) {
    if (!value.is_object() && !value.is_array())
      return broken(op, path, "the value must be an object or a list");
    document = value;
    return {};
  }
  if (op == "add" || op == "replace" || op == "remove" || op == "test") {
    const Place place = locate(document, path);
    if (!place.container) return missing(path);
    if (op == "add") return add(op, place, value);
    if (op == "remove") return remove(op, place);
    const auto current = get(op, place);
    if (!current) return fail(current.error());
    if (op == "test") {
      const json::value none;
      if ((*current ? **current : none) == value) return {};
      return broken(op, path, "testing value failed");
    }
    if (auto* array = place.container->if_array()) {
      (*array)[*elementOf(*array, op, place)] = value;
    } else {
      place.container->get_object()[place.key] = value;
    }
    return {};
  }
  if (op == "move" || op == "copy") {
    const auto* fromMember = find(operation, "from");
    if (!fromMember || !fromMember->is_string())
      return fail(ErrorCode::BadRequest, fmt::format("{} operation: from is missing", op));
    const std::string from(textAt(operation, "from"));
    const Place source = locate(document, from);
    if (!source.container) return missing(from);
    const auto current = get(op, source);
    if (!current) return fail(current.error());
    json::value moved = *current ? **current : json::value(nullptr);
    if (op == "move")
      if (auto removed = remove(op, source); !removed) return removed;
    const Place target = locate(document, path);
    if (!target.container) return missing(path);
    return add(op, target, std::move(moved));
  }
  return fail(ErrorCode::BadRequest, fmt::format("unexpected operation \"{}\"", op));
}

}  // namespace

Result<json::value> applyJsonPatch(const json::value& document, const json::value& patch) {
  const auto* operations = patch.if_array();
  if (!operations) return fail(ErrorCode::BadRequest, "a JSON patch must be a list of operations");
  if (operations->size() > kMaxOperations)
    return fail(ErrorCode::RequestEntityTooLarge,
                fmt::format("The allowed maximum operations in a JSON patch is {}, got {}",
                            kMaxOperations, operations->size()));
  json::value out = document;
  for (const auto& operation : *operations)
    if (auto applied = applyOne(out, operation); !applied) return fail(std::move(applied.error()));
  return out;
}

}  // namespace koord::api
