#include "apiserver/objects/normalize.h"

#include <fmt/format.h>

namespace koord::apiserver {
namespace {

using api::Schema;

std::string join(const std::string& path, std::string_view field) {
  return path.empty() ? std::string(field) : path + "." + std::string(field);
}

void prune(json::value& value, const Schema& schema, bool custom, const std::string& path,
           std::vector<std::string>& unknown);

void pruneObject(json::object& object, const Schema& schema, bool custom, const std::string& path,
                 std::vector<std::string>& unknown) {
  for (auto it = object.begin(); it != object.end();) {
    const std::string_view key = it->key();
    const auto* field = schema.field(key);
    const bool implied =
        schema.embedded && (key == "apiVersion" || key == "kind" || key == "metadata");
    if (!field && !schema.preserveUnknown && !implied) {
      unknown.push_back(join(path, key));
      it = object.stable_erase(it);
      continue;
    }
    if (it->value().is_null() && !custom) {
      it = object.stable_erase(it);
      continue;
    }
    if (field && field->type && (it->value().is_object() || it->value().is_array()))
      prune(it->value(), *field->type, custom, join(path, key), unknown);
    ++it;
  }
}

void prune(json::value& value, const Schema& schema, bool custom, const std::string& path,
           std::vector<std::string>& unknown) {
  if (auto* object = value.if_object()) {
    if (schema.type == Schema::Type::Object) {
      pruneObject(*object, schema, custom, path, unknown);
    } else if (schema.type == Schema::Type::Map && schema.items) {
      for (auto& member : *object)
        if (member.value().is_object() || member.value().is_array())
          prune(member.value(), *schema.items, custom, join(path, member.key()), unknown);
    }
  } else if (auto* array = value.if_array();
             array && schema.type == Schema::Type::List && schema.items) {
    for (std::size_t i = 0; i < array->size(); ++i)
      if ((*array)[i].is_object() || (*array)[i].is_array())
        prune((*array)[i], *schema.items, custom, fmt::format("{}[{}]", path, i), unknown);
  }
}

}  // namespace

Outcome<std::vector<std::string>> pruneBuiltin(json::value& object, const Schema& schema) {
  if (auto problem = api::checkTypes(object, schema))
    return refuse(ErrorCode::BadRequest, problem->path.empty()
                                             ? problem->message
                                             : problem->path + ": " + problem->message);
  std::vector<std::string> unknown;
  prune(object, schema, false, "", unknown);
  return unknown;
}

std::vector<std::string> pruneCustom(json::value& object, const Schema& schema) {
  std::vector<std::string> unknown;
  prune(object, schema, true, "", unknown);
  return unknown;
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
