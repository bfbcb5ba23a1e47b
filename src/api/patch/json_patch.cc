#include "api/patch/json_patch.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/json_measure.h"

// A patch is small and what it makes need not be: an object that is copied into itself doubles each
// time, and an object that is moved into another, and back, gains a level each time. So a patch has
// three budgets: bytes that copies add, levels of the document, and work, which is values that are
// walked or shifted. Everything else an operation does costs no more than its own text.

namespace koord::api {
namespace {

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
  std::size_t level = 0;  // of the container: 1 for the document itself
};

// What the operations so far have used up, and whether the last one was a test that failed.
class JsonPatchBudget {
 public:
  bool testFailed = false;

  Result<> chargeCopy(std::size_t bytes) {
    copiedBytes_ += bytes;
    if (copiedBytes_ <= kMaxPatchCopyBytes) return {};
    // 422 and not 413, as kube-apiserver answers whatever an operation of a patch fails for.
    return fail(ErrorCode::Invalid,
                fmt::format("Unable to complete the copy, the accumulated size increase of copy is "
                            "{}, exceeding the limit {}",
                            copiedBytes_, kMaxPatchCopyBytes));
  }
  Result<> chargeWork(std::size_t values) {
    work_ += values;
    if (work_ <= kMaxPatchWork) return {};
    return fail(ErrorCode::RequestEntityTooLarge,
                fmt::format("The operations of this JSON patch walk or shift more than {} values; "
                            "send fewer at a time",
                            kMaxPatchWork));
  }

 private:
  std::size_t copiedBytes_ = 0;
  std::size_t work_ = 0;
};

// The container is nullptr if a part of the path is missing or is not a container.
Place locate(json::value& document, std::string_view path) {
  const auto first = path.find('/');
  if (first == std::string_view::npos) return {};
  auto rest = path.substr(first + 1);
  json::value* at = &document;
  for (std::size_t level = 1;; ++level) {
    if (!at->is_object() && !at->is_array()) return {};
    const auto slash = rest.find('/');
    const std::string token = unescape(rest.substr(0, slash));
    if (slash == std::string_view::npos) return {at, token, level};
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

// value has `depth` levels.
Result<> add(std::string_view op, const Place& place, json::value value, std::size_t depth,
             JsonPatchBudget& budget) {
  if (place.level + depth > kMaxJsonDepth)
    return broken(
        op, place.key,
        fmt::format("the document would be nested more than {} levels deep", kMaxJsonDepth));
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
  if (auto good = budget.chargeWork(static_cast<std::size_t>(places - *index)); !good) return good;
  array.insert(array.begin() + *index, std::move(value));
  return {};
}

// What was there, which is gone from the document now.
Result<json::value> take(std::string_view op, const Place& place, JsonPatchBudget& budget) {
  json::value taken;
  if (auto* object = place.container->if_object()) {
    const auto it = object->find(place.key);
    if (it == object->end()) return broken(op, place.key, "unable to remove nonexistent key");
    if (auto good = budget.chargeWork(static_cast<std::size_t>(object->end() - it)); !good)
      return fail(std::move(good.error()));
    taken = std::move(it->value());
    object->stable_erase(it);
    return taken;
  }
  auto& array = place.container->get_array();
  const auto index = elementOf(array, op, place);
  if (!index) return fail(index.error());
  if (auto good = budget.chargeWork(array.size() - *index); !good)
    return fail(std::move(good.error()));
  taken = std::move(array[*index]);
  array.erase(array.begin() + static_cast<std::ptrdiff_t>(*index));
  return taken;
}

std::unexpected<Error> missing(std::string_view op, std::string_view path) {
  return broken(op, path, "missing value");
}

Result<> moveOrCopy(json::value& document, const json::value& operation, std::string_view op,
                    std::string_view path, JsonPatchBudget& budget) {
  const auto* member = find(operation, "from");
  if (!member || !member->is_string())
    return fail(ErrorCode::BadRequest, fmt::format("{} operation: from is missing", op));
  const std::string_view from = textAt(operation, "from");
  const Place source = locate(document, from);
  if (!source.container) return missing(op, from);
  const auto current = get(op, source);
  if (!current) return fail(current.error());
  const auto size = *current ? measureJson(**current) : JsonMeasure{4, 1, 0};  // null
  if (auto good = budget.chargeWork(size.values); !good) return good;
  json::value value;
  if (op == "move") {
    auto taken = take(op, source, budget);
    if (!taken) return fail(std::move(taken.error()));
    value = *std::move(taken);
  } else {
    if (auto good = budget.chargeCopy(size.bytes); !good) return good;
    if (*current) value = **current;
  }
  const Place target = locate(document, path);
  if (!target.container) return missing(op, path);
  return add(op, target, std::move(value), size.depth, budget);
}

Result<> testOrReplace(const Place& place, std::string_view op, std::string_view path,
                       const json::value& value, JsonPatchBudget& budget) {
  const auto current = get(op, place);
  if (!current) return fail(current.error());
  if (op == "test") {
    const json::value none;
    if ((*current ? **current : none) == value) return {};
    budget.testFailed = true;
    return broken(op, path, "testing value failed");
  }
  if (place.level + measureJson(value).depth > kMaxJsonDepth)
    return broken(
        op, path,
        fmt::format("the document would be nested more than {} levels deep", kMaxJsonDepth));
  if (auto* array = place.container->if_array()) {
    (*array)[*elementOf(*array, op, place)] = value;
  } else {
    place.container->get_object()[place.key] = value;
  }
  return {};
}

Result<> applyOne(json::value& document, const json::value& operation, JsonPatchBudget& budget) {
  if (!operation.is_object()) return fail(ErrorCode::BadRequest, "an operation must be an object");
  const std::string op(textAt(operation, "op"));
  const auto* pathMember = find(operation, "path");
  if (!pathMember || !pathMember->is_string())
    return fail(ErrorCode::BadRequest, fmt::format("{} operation: path is missing", op));
  const std::string_view path = textAt(operation, "path");
  static const json::value kNull;
  const auto* member = find(operation, "value");
  const json::value& value = member ? *member : kNull;

  if (op == "test" && path.empty()) {
    if (document == value) return {};
    budget.testFailed = true;
    return broken(op, path, "testing value failed");
  }
  if (op == "replace" && path.empty()) {
    if (!value.is_object() && !value.is_array())
      return broken(op, path, "the value must be an object or a list");
    document = value;
    return {};
  }
  if (op == "move" || op == "copy") return moveOrCopy(document, operation, op, path, budget);
  if (op != "add" && op != "replace" && op != "remove" && op != "test")
    return fail(ErrorCode::BadRequest, fmt::format("unexpected operation \"{}\"", op));
  const Place place = locate(document, path);
  if (!place.container) return missing(op, path);
  if (op == "add") return add(op, place, value, measureJson(value).depth, budget);
  if (op == "remove") {
    auto taken = take(op, place, budget);
    if (!taken) return fail(std::move(taken.error()));
    return {};
  }
  return testOrReplace(place, op, path, value, budget);
}

}  // namespace

Result<json::value> applyJsonPatch(const json::value& document, const json::value& patch,
                                   bool* testFailed) {
  const auto* operations = patch.if_array();
  if (!operations) return fail(ErrorCode::BadRequest, "a JSON patch must be a list of operations");
  if (operations->size() > kMaxPatchOperations)
    return fail(ErrorCode::RequestEntityTooLarge,
                fmt::format("The allowed maximum operations in a JSON patch is {}, got {}",
                            kMaxPatchOperations, operations->size()));
  json::value out = document;
  JsonPatchBudget budget;
  for (const auto& operation : *operations)
    if (auto applied = applyOne(out, operation, budget); !applied) {
      if (testFailed) *testFailed = budget.testFailed;
      return fail(std::move(applied.error()));
    }
  return out;
}

}  // namespace koord::api
