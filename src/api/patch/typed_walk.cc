#include "api/patch/typed_walk.h"

#include <algorithm>

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
  const auto& fields = schema_->fields;
  for (; next_ < fields.size(); ++next_)
    if (const auto order = fields[next_].name <=> name; order >= 0)
      return order == 0 ? &fields[next_] : nullptr;
  return nullptr;
}

const Schema* SchemaCursor::type(std::string_view name) {
  return type(field(name));
}

const Schema* SchemaCursor::type(const SchemaField* known) const {
  if (known) return known->type;
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
