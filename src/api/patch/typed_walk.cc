#include "api/patch/typed_walk.h"

#include <algorithm>
#include <span>

namespace koord::api::walk {

bool isEmpty(const json::value* value) {
  if (!value || value->is_null()) return true;
  if (const auto* object = value->if_object()) return object->empty();
  if (const auto* array = value->if_array()) return array->empty();
  return false;
}

bool isContainer(const json::value* value) {
  return value && value->is_structured();
}

Members sortedMembers(const json::object& object) {
  Members out;
  out.reserve(object.size());
  for (const auto& member : object) out.push_back(&member);
  std::ranges::sort(out, {}, [](const auto* member) { return std::string_view(member->key()); });
  return out;
}

const SchemaField* SchemaCursor::field(std::string_view name) {
  if (!schema_) return nullptr;
  const auto rest = std::span(schema_->fields).subspan(next_);
  const auto it = std::ranges::lower_bound(rest, name, {}, &SchemaField::name);
  next_ += static_cast<std::size_t>(it - rest.begin());
  return it != rest.end() && it->name == name ? &*it : nullptr;
}

const Schema* SchemaCursor::type(std::string_view name) {
  if (const auto* known = field(name)) return known->type;
  return schema_ && schema_->type == Schema::Type::Map ? schema_->items : nullptr;
}

const json::value* impliedValue(const SchemaField* field) {
  static const json::value noObject(json::object_kind);
  static const json::value nothing;
  if (!field || field->wire.empty() || field->pointer || !field->type) return nullptr;
  if (field->type->type == Schema::Type::Object) return &noObject;
  return field->required && field->type->type == Schema::Type::List ? &nothing : nullptr;
}

}  // namespace koord::api::walk
