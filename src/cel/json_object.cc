#include "cel/json_object.h"

#include <utility>

#include "cel/value_access.h"

namespace koord::cel {

void JsonObjectType::add(std::string name, Type type, std::string key) {
  const int number = static_cast<int>(fields_.size());
  numbers_.emplace(name, number);
  fields_.push_back({key.empty() ? std::move(name) : std::move(key), std::move(type)});
  types_.emplace(fields_.back().key, number);
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
  const auto &left = *static_cast<const koord::json::value*>(a),
             &right = *static_cast<const koord::json::value*>(b);
  if (a == b) return true;
  if (!left.is_object() || !right.is_object()) return left == right;
  const auto &mine = left.get_object(), &others = right.get_object();
  if (mine.size() != others.size()) return false;
  for (const auto& member : mine) {
    const auto* other = others.if_contains(member.key());
    if (!other) return false;
    const auto type = types_.find(std::string(member.key()));
    const bool equal =
        type == types_.end()
            ? member.value() == *other
            : Value::json(member.value(), fields_[static_cast<std::size_t>(type->second)].type)
                  .equals(
                      Value::json(*other, fields_[static_cast<std::size_t>(type->second)].type));
    if (!equal) return false;
  }
  return true;
}

const koord::json::object* jsonMembers(const Value& value) {
  if (value.is(Kind::Map) && ValueAccess::isJson(value)) return &ValueAccess::members(value);
  if (!value.is(Kind::Object) || !dynamic_cast<const JsonObjectType*>(&value.objectType()))
    return nullptr;
  return static_cast<const koord::json::value*>(value.objectPointer())->if_object();
}

Result<koord::json::value> JsonObjectType::toJson(const void* object) const {
  return *static_cast<const koord::json::value*>(object);
}

}  // namespace koord::cel
