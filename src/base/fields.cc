#include "base/fields.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/time.h"

namespace koord {

namespace {

constexpr std::string_view kAny = "any";

}  // namespace

void FieldLog::add(FieldNote note) {
  const auto known = std::ranges::find(notes_, note.path, &FieldNote::path);
  if (known == notes_.end()) {
    notes_.push_back(std::move(note));
  } else if (known->type == kAny) {
    *known = std::move(note);
  }
}

Fields::Fields(FieldLog& log, std::string path, std::vector<std::string>& errors)
    : object_(nullptr), path_(std::move(path)), errors_(errors), log_(&log) {}

void Fields::note(std::string_view name, std::string_view type, std::string absent) {
  if (log_) log_->add({pathOf(name), std::string(type), std::move(absent), {}, {}});
}

Fields::Fields(const json::value* object, std::string path, std::vector<std::string>& errors)
    : object_(object), path_(std::move(path)), errors_(errors) {
  if (object_ && object_->is_null()) object_ = nullptr;
  if (object_ && !object_->is_object()) {
    errors_.push_back(fmt::format("{}: expected an object", path_.empty() ? "<document>" : path_));
    object_ = nullptr;
  }
}

std::string Fields::pathOf(std::string_view name) const {
  if (path_.empty()) return std::string(name);
  return name.empty() ? path_ : fmt::format("{}.{}", path_, name);
}

void Fields::error(std::string_view name, std::string_view message) {
  errors_.push_back(fmt::format("{}: {}", pathOf(name), message));
}

const json::value* Fields::take(std::string_view name) {
  known_.emplace(name);
  if (!object_) return nullptr;
  const json::value* value = find(*object_, name);
  return value && value->is_null() ? nullptr : value;
}

bool Fields::has(std::string_view name) const {
  if (log_) return true;
  if (!object_) return false;
  const json::value* value = find(*object_, name);
  return value && !value->is_null();
}

bool Fields::names(std::string_view name) const {
  return log_ || (object_ && find(*object_, name));
}

const json::value* Fields::raw(std::string_view name) {
  note(name, kAny);
  return take(name);
}

std::int64_t Fields::integer(std::string_view name, std::int64_t absent, std::int64_t low,
                             std::int64_t high) {
  if (log_) log_->add({pathOf(name), "integer", std::to_string(absent), low, high});
  const json::value* value = take(name);
  if (!value) return absent;
  if (!value->is_int64()) {
    error(name, fmt::format("expected an integer, got {}", toJson(*value)));
    return absent;
  }
  const std::int64_t number = value->get_int64();
  if (number >= low && number <= high) return number;
  error(name, high == INT64_MAX ? fmt::format("Invalid value: {}: must be at least {}", number, low)
                                : fmt::format("Invalid value: {}: not in valid range [{}-{}]",
                                              number, low, high));
  return absent;
}

double Fields::number(std::string_view name, double absent) {
  if (log_) note(name, "number", fmt::format("{}", absent));
  const json::value* value = take(name);
  if (!value) return absent;
  if (const auto number = realNumber(*value)) return *number;
  error(name, fmt::format("expected a number, got {}", toJson(*value)));
  return absent;
}

bool Fields::boolean(std::string_view name, bool absent) {
  note(name, "boolean", absent ? "true" : "false");
  const json::value* value = take(name);
  if (!value) return absent;
  if (value->is_bool()) return value->get_bool();
  error(name, fmt::format("expected true or false, got {}", toJson(*value)));
  return absent;
}

std::string Fields::text(std::string_view name, std::string absent) {
  if (log_) note(name, "string", absent);
  const json::value* value = take(name);
  if (!value) return absent;
  if (value->is_string()) return std::string(value->get_string());
  error(name, fmt::format("expected a string, got {}", toJson(*value)));
  return absent;
}

std::string Fields::required(std::string_view name) {
  const bool there = has(name);
  auto value = text(name);
  if (!there) error(name, "is required");
  return value;
}

Duration Fields::duration(std::string_view name, Duration absent) {
  if (log_) note(name, "duration", formatDuration(absent));
  const json::value* value = take(name);
  if (!value) return absent;
  if (value->is_string()) {
    if (const auto parsed = parseDuration(std::string(value->get_string()))) return *parsed;
  }
  error(name, fmt::format("expected a duration such as 15s, got {}", toJson(*value)));
  return absent;
}

std::vector<std::string> Fields::texts(std::string_view name) {
  note(name, "list of strings");
  std::vector<std::string> result;
  const json::value* value = take(name);
  if (!value) return result;
  if (!value->is_array()) {
    error(name, "expected a list");
    return result;
  }
  for (std::size_t i = 0; i < value->get_array().size(); ++i) {
    const json::value& item = value->get_array()[i];
    if (item.is_string()) {
      result.emplace_back(item.get_string());
    } else {
      error(fmt::format("{}[{}]", name, i), fmt::format("expected a string, got {}", toJson(item)));
    }
  }
  return result;
}

std::map<std::string, std::int64_t, std::less<>> Fields::integers(std::string_view name,
                                                                  std::int64_t low,
                                                                  std::int64_t high) {
  std::map<std::string, std::int64_t, std::less<>> result;
  if (log_) log_->add({pathOf(name), "map of integers", "", low, high});
  Fields members = object(name);
  if (!members.object_) return result;
  for (const auto& member : members.object_->get_object()) {
    const std::string key(member.key().data(), member.key().size());
    result[key] = members.integer(key, low, low, high);
  }
  return result;
}

std::map<std::string, double, std::less<>> Fields::numbers(std::string_view name) {
  std::map<std::string, double, std::less<>> result;
  note(name, "map of numbers");
  Fields members = object(name);
  if (!members.object_) return result;
  for (const auto& member : members.object_->get_object()) {
    const std::string key(member.key().data(), member.key().size());
    result[key] = members.number(key, 0);
  }
  return result;
}

std::map<std::string, std::string, std::less<>> Fields::textsByName(std::string_view name) {
  std::map<std::string, std::string, std::less<>> result;
  note(name, "map of strings");
  Fields members = object(name);
  if (!members.object_) return result;
  for (const auto& member : members.object_->get_object()) {
    const std::string key(member.key().data(), member.key().size());
    result[key] = members.text(key);
  }
  return result;
}

Fields Fields::object(std::string_view name) {
  note(name, "object");
  if (log_) return Fields(*log_, pathOf(name), errors_);
  return Fields(take(name), pathOf(name), errors_);
}

std::vector<Fields> Fields::list(std::string_view name) {
  note(name, "list of objects");
  std::vector<Fields> result;
  if (log_) result.emplace_back(*log_, pathOf(name) + "[]", errors_);
  const json::value* value = take(name);
  if (!value) return result;
  if (!value->is_array()) {
    error(name, "expected a list");
    return result;
  }
  for (std::size_t i = 0; i < value->get_array().size(); ++i)
    result.emplace_back(&value->get_array()[i], pathOf(fmt::format("{}[{}]", name, i)), errors_);
  return result;
}

std::vector<std::pair<std::string, Fields>> Fields::objects(std::string_view name) {
  note(name, "map of objects");
  std::vector<std::pair<std::string, Fields>> result;
  if (log_) result.emplace_back("*", Fields(*log_, pathOf(name) + ".*", errors_));
  Fields members = object(name);
  if (!members.object_) return result;
  for (const auto& member : members.object_->get_object()) {
    const std::string key(member.key().data(), member.key().size());
    result.emplace_back(key, members.object(key));
  }
  return result;
}

void Fields::refuseUnknown() {
  if (!object_) return;
  for (const auto& member : object_->get_object()) {
    const std::string_view key{member.key().data(), member.key().size()};
    if (!known_.contains(key)) error(key, "unknown field");
  }
}

}  // namespace koord
