#include "cluster/scenario/fields.h"

#include <fmt/format.h>

#include "base/time.h"
#include "cluster/scenario/jmespath_values.h"

namespace koord::scenario {

std::string Problems::text(const std::function<std::string(const std::string& path)>& place) const {
  std::string result;
  for (const auto& [path, what] : all_) {
    result += fmt::format("{}{}: {}: {}", result.empty() ? "" : "\n", place(path),
                          path.empty() ? "the document" : path, what);
  }
  return result;
}

Fields::Fields(const json::value& value, std::string path, Problems& problems)
    : object_(value.if_object()), path_(std::move(path)), problems_(problems) {
  if (!object_ && !value.is_null()) {
    problems_.add(path_, fmt::format("must be an object, is {}", jmespath::typeOf(value)));
  }
}

std::string Fields::pathOf(std::string_view key) const {
  return path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key);
}

bool Fields::has(std::string_view key) const {
  const auto* value = object_ ? object_->if_contains(key) : nullptr;
  return value && !value->is_null();
}

const json::value* Fields::take(std::string_view key) {
  taken_.emplace(key);
  return has(key) ? object_->if_contains(key) : nullptr;
}

void Fields::wrongType(std::string_view key, std::string_view expected) {
  problems_.add(pathOf(key), fmt::format("must be {}, is {}", expected,
                                         jmespath::plainText(*object_->if_contains(key))));
}

std::optional<std::string> Fields::text(std::string_view key) {
  const auto* value = take(key);
  if (!value) return std::nullopt;
  if (!value->is_string()) {
    wrongType(key, "a text");
    return std::nullopt;
  }
  return std::string(jmespath::textOf(*value));
}

std::optional<bool> Fields::boolean(std::string_view key) {
  const auto* value = take(key);
  if (!value) return std::nullopt;
  if (!value->is_bool()) {
    wrongType(key, "true or false");
    return std::nullopt;
  }
  return value->get_bool();
}

std::optional<std::int64_t> Fields::integer(std::string_view key) {
  const auto* value = take(key);
  if (!value) return std::nullopt;
  if (!value->is_int64()) {
    wrongType(key, "an integer");
    return std::nullopt;
  }
  return value->get_int64();
}

std::optional<Duration> Fields::duration(std::string_view key) {
  const auto* value = take(key);
  if (!value) return std::nullopt;
  const auto parsed = value->is_string() ? parseDuration(jmespath::textOf(*value))
                                         : Result<Duration>(fail(ErrorCode::Invalid, ""));
  if (!parsed || *parsed < Duration{}) {
    wrongType(key, "a duration like 1m30s");
    return std::nullopt;
  }
  return *parsed;
}

std::vector<std::string> Fields::texts(std::string_view key) {
  std::vector<std::string> result;
  for (const auto& [item, path] : items(key)) {
    if (item->is_string()) {
      result.emplace_back(jmespath::textOf(*item));
    } else {
      problems_.add(path, "must be a text");
    }
  }
  return result;
}

std::vector<std::pair<const json::value*, std::string>> Fields::items(std::string_view key) {
  std::vector<std::pair<const json::value*, std::string>> result;
  const auto* value = take(key);
  if (!value) return result;
  const auto* array = value->if_array();
  if (!array) {
    wrongType(key, "a list");
    return result;
  }
  for (std::size_t i = 0; i < array->size(); ++i) {
    result.emplace_back(&(*array)[i], fmt::format("{}[{}]", pathOf(key), i));
  }
  return result;
}

std::string Fields::required(std::string_view key) {
  const bool there = has(key);
  auto value = text(key);
  if (!there) problems_.add(pathOf(key), "is required");
  return value.value_or("");
}

void Fields::unsupported(std::initializer_list<std::string_view> keys) {
  for (const auto key : keys) {
    if (take(key)) problems_.add(pathOf(key), "is not supported");
  }
}

void Fields::finish() {
  if (!object_) return;
  for (const auto& member : *object_) {
    const std::string_view key = member.key();
    if (!taken_.contains(key)) problems_.add(pathOf(key), "there is no such field");
  }
}

}  // namespace koord::scenario
