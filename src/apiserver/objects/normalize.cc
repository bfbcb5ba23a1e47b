#include "apiserver/objects/normalize.h"

#include <fmt/format.h>

#include "api/quantity_json.h"
#include "apiserver/objects/place.h"
#include "base/json_edit.h"
#include "base/json_measure.h"

#include "base/quantity.h"

namespace koord::apiserver {
namespace {

using api::Schema;

bool isEmptyList(const json::value& value) {
  if (const auto* array = value.if_array()) return array->empty();
  const auto* object = value.if_object();
  return object && object->empty();
}

bool isImplied(const Schema& schema, std::string_view name) {
  return schema.embedded && (name == "apiVersion" || name == "kind" || name == "metadata");
}

// Returns true if the API writes this value of a struct's field. Fields that are always written
// need no value.
bool isShown(const json::value& value, const api::SchemaField& field) {
  if (value.is_null()) return false;
  const bool list = field.type && (field.type->type == Schema::Type::List ||
                                   field.type->type == Schema::Type::Map);
  return !list || field.kept || field.required || !isEmptyList(value);
}

// Canonical form of a quantity: 1000m is 1.
void toCanonical(json::value& amount) {
  const auto quantity = api::readQuantity(amount);
  if (!quantity) return;
  const auto text = quantity->toString();
  if (!amount.is_string() || amount.get_string() != text) amount = json::string_view(text);
}

json::value zeroOf(const Schema& schema) {
  switch (schema.type) {
    case Schema::Type::Integer:
      return 0;
    case Schema::Type::Boolean:
      return false;
    case Schema::Type::String:
      return "";
    default:
      return json::object{};
  }
}

class Pruner {
 public:
  std::vector<std::string> unknown;

  void prune(json::value& value, const Schema& schema, const Place& place) {
    if (auto* object = value.if_object()) {
      if (schema.type == Schema::Type::Object) {
        members(*object, schema, place);
      } else if (schema.type == Schema::Type::Map && schema.items) {
        const bool amounts = schema.items->type == Schema::Type::Quantity;
        for (auto& member : *object)
          if (member.value().is_structured())
            prune(member.value(), *schema.items, Place{&place, member.key()});
          else if (amounts)
            toCanonical(member.value());
      }
    } else if (auto* array = value.if_array();
               array && schema.type == Schema::Type::List && schema.items) {
      for (std::size_t i = 0; i < array->size(); ++i)
        if ((*array)[i].is_structured())
          prune((*array)[i], *schema.items, Place{&place, {}, i});
        else if (schema.items->type == Schema::Type::Quantity)
          toCanonical((*array)[i]);
    }
  }

 private:
  void members(json::object& object, const Schema& schema, const Place& place) {
    const bool builtin = !schema.name.empty();
    eraseMembersIf(object, [&](json::key_value_pair& member) {
      const std::string_view key = member.key();
      const auto* field = schema.field(key);
      if (!field && !schema.preserveUnknown && !isImplied(schema, key)) {
        if (unknown.size() < kMaxUnknownFields)
          unknown.push_back(cutText(Place{&place, key}.text(), FieldErrors::kMaxMessageBytes));
        return true;
      }
      if (builtin && field && !isShown(member.value(), *field)) return true;
      if (field && field->type && member.value().is_structured())
        prune(member.value(), *field->type, Place{&place, key});
      else if (builtin && field && field->type && field->type->type == Schema::Type::Quantity)
        toCanonical(member.value());
      return false;
    });
    addZeros(object, schema);
  }

  void addZeros(json::object& object, const Schema& schema) {
    for (const auto index : schema.zeros) {
      const auto& field = schema.fields[index];
      if (object.contains(field.name)) continue;
      auto& zero = object[field.name] = zeroOf(*field.type);
      if (auto* inner = zero.if_object()) addZeros(*inner, *field.type);
    }
  }
};

// Returns false if the defaults exceed `room`. A default may have lists whose elements have
// defaults, recursively.
bool fillIn(json::value& value, const Schema& schema, std::size_t& room) {
  if (auto* object = value.if_object()) {
    for (const auto& field : schema.fields) {
      if (!field.type) continue;
      auto* member = object->if_contains(field.name);
      const auto* limits = field.type->limits.get();
      const bool missing = !member || (member->is_null() && !field.type->nullable);
      if (missing && limits && limits->default_) {
        const auto bytes = field.name.size() + measureJson(*limits->default_).bytes;
        if (bytes > room) return false;
        room -= bytes;
        member = &(*object)[field.name];
        *member = *limits->default_;
      }
      if (member && !fillIn(*member, *field.type, room)) return false;
    }
    if (schema.type == Schema::Type::Map && schema.items)
      for (auto& member : *object)
        if (!fillIn(member.value(), *schema.items, room)) return false;
  } else if (auto* array = value.if_array(); array && schema.items) {
    for (auto& item : *array)
      if (!fillIn(item, *schema.items, room)) return false;
  }
  return true;
}

}  // namespace

std::vector<std::string> prune(json::value& object, const Schema& schema) {
  Pruner pruner;
  pruner.prune(object, schema, {});
  return std::move(pruner.unknown);
}

Result<> applyDefaults(json::value& object, const Schema& schema) {
  std::size_t room = kMaxDefaultBytes;
  if (fillIn(object, schema, room)) return {};
  return fail(ErrorCode::RequestEntityTooLarge,
              fmt::format("the defaults of the CustomResourceDefinition's schema add more than {} "
                          "bytes to this object",
                          kMaxDefaultBytes));
}

}  // namespace koord::apiserver
