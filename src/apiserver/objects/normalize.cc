#include "apiserver/objects/normalize.h"

#include <fmt/format.h>

#include <optional>

#include "base/quantity.h"

namespace koord::apiserver {
namespace {

using api::Schema;

// Where a value is; becomes text only when there is something to say about it.
struct Place {
  const Place* above = nullptr;
  std::string_view member = {};
  std::optional<std::size_t> element = {};

  std::string text() const {
    if (!above) return "";
    const auto path = above->text();
    if (element) return fmt::format("{}[{}]", path, *element);
    return path.empty() ? std::string(member) : fmt::format("{}.{}", path, member);
  }
};

bool isEmptyList(const json::value& value) {
  if (const auto* array = value.if_array()) return array->empty();
  const auto* object = value.if_object();
  return object && object->empty();
}

bool isImplied(const Schema& schema, std::string_view name) {
  return schema.embedded && (name == "apiVersion" || name == "kind" || name == "metadata");
}

// Whether the API shows this value of a struct's field. What is always there needs no value.
bool isShown(const json::value& value, const api::SchemaField& field) {
  if (value.is_null()) return false;
  const bool list = field.type && (field.type->type == Schema::Type::List ||
                                   field.type->type == Schema::Type::Map);
  return !list || field.kept || field.required || !isEmptyList(value);
}

// The one way to write an amount: 1000m is 1.
void toCanonical(json::value& amount) {
  const auto quantity =
      Quantity::parse(amount.is_string() ? std::string_view(amount.get_string()) : toJson(amount));
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
        if ((*array)[i].is_structured()) prune((*array)[i], *schema.items, Place{&place, {}, i});
    }
  }

 private:
  void members(json::object& object, const Schema& schema, const Place& place) {
    const bool builtin = !schema.name.empty();
    for (auto it = object.begin(); it != object.end();) {
      const std::string_view key = it->key();
      const auto* field = schema.field(key);
      if (!field && !schema.preserveUnknown && !isImplied(schema, key)) {
        unknown.push_back(Place{&place, key}.text());
        it = object.stable_erase(it);
        continue;
      }
      if (builtin && field && !isShown(it->value(), *field)) {
        it = object.stable_erase(it);
        continue;
      }
      if (field && field->type && it->value().is_structured())
        prune(it->value(), *field->type, Place{&place, key});
      else if (builtin && field && field->type && field->type->type == Schema::Type::Quantity)
        toCanonical(it->value());
      ++it;
    }
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

}  // namespace

std::vector<std::string> prune(json::value& object, const Schema& schema) {
  Pruner pruner;
  pruner.prune(object, schema, {});
  return std::move(pruner.unknown);
}

void applyDefaults(json::value& value, const Schema& schema) {
  if (auto* object = value.if_object()) {
    for (const auto& field : schema.fields) {
      if (!field.type) continue;
      auto* member = object->if_contains(field.name);
      const auto* limits = field.type->limits.get();
      const bool missing = !member || (member->is_null() && !field.type->nullable);
      if (missing && limits && limits->default_) {
        (*object)[field.name] = *limits->default_;
        member = object->if_contains(field.name);
      }
      if (member) applyDefaults(*member, *field.type);
    }
    if (schema.type == Schema::Type::Map && schema.items)
      for (auto& member : *object) applyDefaults(member.value(), *schema.items);
  } else if (auto* array = value.if_array(); array && schema.items) {
    for (auto& item : *array) applyDefaults(item, *schema.items);
  }
}

}  // namespace koord::apiserver
