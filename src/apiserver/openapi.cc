#include "apiserver/openapi.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "apiserver/words/words.h"
#include "base/json.h"

namespace koord::apiserver {
namespace {

using api::Schema;
using json::array;
using json::object;

// Definition names are approximately upstream's, so that users find them: the group's domain
// reversed.
std::string definitionName(const Resource& resource, std::string_view version) {
  if (!resource.custom) {
    const auto group =
        resource.group.empty() ? "core" : resource.group.substr(0, resource.group.find('.'));
    return "io.k8s.api." + group + "." + std::string(version) + "." + resource.kind;
  }
  std::string out;
  std::string_view rest = resource.group;
  while (!rest.empty()) {
    const auto dot = rest.rfind('.');
    if (!out.empty()) out += '.';
    out += rest.substr(dot == std::string_view::npos ? 0 : dot + 1);
    rest = dot == std::string_view::npos ? std::string_view{} : rest.substr(0, dot);
  }
  return out + "." + std::string(version) + "." + resource.kind;
}

// Turns schemas into OpenAPI; named structs become definitions of their own.
class Writer {
 public:
  explicit Writer(std::string refPrefix, bool v3) : refPrefix_(std::move(refPrefix)), v3_(v3) {}

  object definitions;

  void addKind(const Resource& resource, const ResourceVersion& version) {
    const auto name = definitionName(resource, version.name);
    object schema = version.schema ? structOf(*version.schema) : object{{"type", "object"}};
    schema["x-kubernetes-group-version-kind"] =
        array{{{"group", resource.group}, {"version", version.name}, {"kind", resource.kind}}};
    definitions[name] = std::move(schema);
  }

 private:
  object reference(const Schema& schema) {
    const std::string name = "io.k8s.types." + schema.name;
    if (written_.insert(name).second) {
      definitions[name] = object{};
      auto body = structOf(schema);
      definitions[name] = std::move(body);
    }
    return {{"$ref", refPrefix_ + name}};
  }

  json::value valueOf(const Schema* schema) {
    if (!schema) return object{};
    if (!schema->name.empty() && schema->type == Schema::Type::Object) return reference(*schema);
    return structOf(*schema);
  }

  object structOf(const Schema& schema) {
    using Type = Schema::Type;
    object out;
    const std::string_view words =
        schema.description.empty() ? wordsOf(schema.name) : std::string_view(schema.description);
    if (!words.empty()) out["description"] = json::string(words);
    switch (schema.type) {
      case Type::Any:
        if (!v3_) out["type"] = "object";
        out["x-kubernetes-preserve-unknown-fields"] = true;
        break;
      case Type::Object:
        out["type"] = "object";
        addFields(out, schema);
        if (schema.preserveUnknown) out["x-kubernetes-preserve-unknown-fields"] = true;
        break;
      case Type::Map:
        out["type"] = "object";
        out["additionalProperties"] = valueOf(schema.items);
        break;
      case Type::List:
        out["type"] = "array";
        out["items"] =
            schema.items ? valueOf(schema.items) : json::value(object{{"type", "object"}});
        if (schema.listKind == Schema::ListKind::Map) {
          out["x-kubernetes-list-type"] = "map";
          out["x-kubernetes-list-map-keys"] = array(schema.listKeys.begin(), schema.listKeys.end());
        } else if (schema.listKind == Schema::ListKind::Set) {
          out["x-kubernetes-list-type"] = "set";
        }
        break;
      default:
        addScalar(out, schema.type);
    }
    if (schema.limits && !schema.limits->allowed.empty())
      out["enum"] = array(schema.limits->allowed.begin(), schema.limits->allowed.end());
    if (schema.limits && schema.limits->default_ && v3_) out["default"] = *schema.limits->default_;
    return out;
  }

  void addFields(object& out, const Schema& schema) {
    object properties;
    array required;
    for (const auto& field : schema.fields) {
      json::value property = valueOf(field.type);
      auto& members = property.get_object();
      if (const auto words = wordsOf(schema.name, field.name);
          !words.empty() && !schema.name.empty())
        members["description"] = json::string(words);
      // In v2 a $ref has no other member than its description.
      if (!members.contains("$ref") || v3_) addStrategy(members, field);
      if (v3_ && members.contains("$ref") && members.size() > 1) {
        object wrapped;
        const json::value ref = memberOf(members, "$ref");
        for (auto& member : members)
          if (member.key() != "$ref") wrapped.emplace(member.key(), member.value());
        wrapped["allOf"] = array{object{{"$ref", ref}}};
        property = std::move(wrapped);
      }
      properties[field.name] = std::move(property);
      if (field.required) required.push_back(json::string(field.name));
    }
    if (!properties.empty()) out["properties"] = std::move(properties);
    if (!required.empty()) out["required"] = std::move(required);
  }

  void addScalar(object& out, Schema::Type type) const {
    using Type = Schema::Type;
    const auto text = [&](const char* format) {
      out["type"] = "string";
      if (*format) out["format"] = format;
    };
    switch (type) {
      case Type::Integer:
        out["type"] = "integer";
        out["format"] = "int64";
        break;
      case Type::Number:
        out["type"] = "number";
        break;
      case Type::Boolean:
        out["type"] = "boolean";
        break;
      case Type::IntOrString:
        if (!v3_) return text("int-or-string");
        out["x-kubernetes-int-or-string"] = true;
        out["oneOf"] = array{object{{"type", "integer"}}, object{{"type", "string"}}};
        break;
      case Type::Quantity:
        if (!v3_) return text("quantity");
        out["oneOf"] = array{object{{"type", "string"}}, object{{"type", "number"}}};
        break;
      case Type::Time:
      case Type::MicroTime:
        return text("date-time");
      case Type::Bytes:
        return text("byte");
      default:
        return text("");
    }
  }

  static void addStrategy(object& property, const api::SchemaField& field) {
    std::string strategy;
    for (const auto& [set, name] :
         {std::pair{field.merge, "merge"}, std::pair{field.retainKeys, "retainKeys"},
          std::pair{field.replace, "replace"}})
      if (set) strategy += (strategy.empty() ? "" : ",") + std::string(name);
    if (!strategy.empty()) property["x-kubernetes-patch-strategy"] = strategy;
    if (!field.mergeKey.empty()) property["x-kubernetes-patch-merge-key"] = field.mergeKey;
  }

  std::string refPrefix_;
  bool v3_;
  std::set<std::string> written_;
};

object operation(const Resource& resource, const std::string& version, const char* action,
                 bool body, bool v3) {
  array parameters;
  const auto add = [&](const char* name) {
    object parameter{{"name", name}, {"in", "query"}};
    if (v3) {
      parameter["schema"] = {{"type", "string"}, {"uniqueItems", true}};
    } else {
      parameter["type"] = "string";
      parameter["uniqueItems"] = true;
    }
    parameters.push_back(std::move(parameter));
  };
  if (body)
    for (const auto* name : {"dryRun", "fieldManager", "fieldValidation"}) add(name);
  object out{{"x-kubernetes-action", action},
             {"x-kubernetes-group-version-kind",
              {{"group", resource.group}, {"version", version}, {"kind", resource.kind}}},
             {"responses", {{"200", {{"description", "OK"}}}}}};
  if (!parameters.empty()) out["parameters"] = std::move(parameters);
  return out;
}

void addPaths(object& paths, const Resource& resource, const std::string& version, bool v3) {
  std::string base =
      resource.group.empty() ? "/api/" + version : "/apis/" + resource.group + "/" + version;
  if (resource.namespaced) base += "/namespaces/{namespace}";
  base += "/" + resource.plural;
  paths[base] = {{"get", operation(resource, version, "list", false, v3)},
                 {"post", operation(resource, version, "post", true, v3)}};
  paths[base + "/{name}"] = {{"get", operation(resource, version, "get", false, v3)},
                             {"put", operation(resource, version, "put", true, v3)},
                             {"patch", operation(resource, version, "patch", true, v3)},
                             {"delete", operation(resource, version, "delete", false, v3)}};
}

}  // namespace

json::value openApiV2Value(const Registry& registry) {
  Writer writer("#/definitions/", false);
  object paths;
  for (const auto& [name, resource] : registry.all())
    for (const auto& version : resource->versions) {
      if (!version.served) continue;
      writer.addKind(*resource, version);
      addPaths(paths, *resource, version.name, false);
    }
  return object{{"swagger", "2.0"},
                {"info", {{"title", "Kubernetes"}, {"version", "v1.32.0"}}},
                {"paths", std::move(paths)},
                {"definitions", std::move(writer.definitions)}};
}

std::string openApiV2(const Registry& registry) {
  return toJson(openApiV2Value(registry));
}

std::string openApiV3Index(const Registry& registry) {
  object paths;
  const auto hash = std::to_string(registry.generation());
  for (const auto& [name, resource] : registry.all())
    for (const auto& version : resource->versions) {
      if (!version.served) continue;
      const std::string key = resource->group.empty()
                                  ? "api/" + version.name
                                  : "apis/" + resource->group + "/" + version.name;
      paths[key] = {{"serverRelativeURL", "/openapi/v3/" + key + "?hash=" + hash}};
    }
  return toJson(object{{"paths", std::move(paths)}});
}

std::optional<std::string> openApiV3(const Registry& registry, std::string_view group) {
  Writer writer("#/components/schemas/", true);
  object paths;
  for (const auto& [name, resource] : registry.all())
    for (const auto& version : resource->versions) {
      const std::string key = resource->group.empty()
                                  ? "api/" + version.name
                                  : "apis/" + resource->group + "/" + version.name;
      if (!version.served || key != group) continue;
      writer.addKind(*resource, version);
      addPaths(paths, *resource, version.name, true);
    }
  if (paths.empty()) return std::nullopt;
  return toJson(object{{"openapi", "3.0.0"},
                       {"info", {{"title", "Kubernetes"}, {"version", "v1.32.0"}}},
                       {"paths", std::move(paths)},
                       {"components", {{"schemas", std::move(writer.definitions)}}}});
}

}  // namespace koord::apiserver
