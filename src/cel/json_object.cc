#include "cel/json_object.h"

#include <utility>

namespace koord::cel {

void JsonObjectType::add(std::string name, Type type, std::string key) {
  numbers_.emplace(name, static_cast<int>(fields_.size()));
  fields_.push_back({key.empty() ? std::move(name) : std::move(key), std::move(type)});
}

std::optional<ObjectType::Field> JsonObjectType::field(std::string_view name) const {
  const auto found = numbers_.find(std::string(name));
  if (found == numbers_.end()) return std::nullopt;
  return Field{found->second, fields_[static_cast<std::size_t>(found->second)].type};
}

Value JsonObjectType::get(const void* object, int field) const {
  const Declared& declared = fields_[static_cast<std::size_t>(field)];
  const auto* member = find(*static_cast<const koord::json::value*>(object), declared.key);
  if (!member) return Value::error("no such key: " + declared.key);
  return Value::json(*member, declared.type);
}

bool JsonObjectType::has(const void* object, int field) const {
  return find(*static_cast<const koord::json::value*>(object),
              fields_[static_cast<std::size_t>(field)].key) != nullptr;
}

bool JsonObjectType::equals(const void* a, const void* b) const {
  return a == b ||
         *static_cast<const koord::json::value*>(a) == *static_cast<const koord::json::value*>(b);
}

Result<koord::json::value> JsonObjectType::toJson(const void* object) const {
  return *static_cast<const koord::json::value*>(object);
}

}  // namespace koord::cel
