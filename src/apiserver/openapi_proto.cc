// The protocol buffer form of the OpenAPI v2 document (gnostic's openapi.v2.Document), with the
// field numbers of OpenAPIv2.proto. Writes only the parts that the JSON document of openapi.cc has.

#include <string>

#include "api/protobuf/wire.h"
#include "apiserver/openapi.h"
#include "base/json.h"
#include "base/yaml.h"

namespace koord::apiserver {

json::value openApiV2Value(const Registry& registry);

namespace {

using api::wire::putBytes;
using json::value;

void putText(std::string& out, unsigned field, std::string_view text) {
  if (!text.empty()) putBytes(out, field, text);
}

// NamedAny: extensions are written as YAML.
std::string extension(std::string_view name, const value& content) {
  std::string any;
  putText(any, 2, toYaml(content));
  std::string out;
  putText(out, 1, name);
  putBytes(out, 2, any);
  return out;
}

void putExtensions(std::string& out, unsigned field, const json::object& in) {
  for (const auto& member : in)
    if (member.key().starts_with("x-"))
      putBytes(out, field, extension(member.key(), member.value()));
}

std::string schema(const value& in) {
  std::string out;
  putText(out, 1, textAt(in, "$ref"));
  putText(out, 2, textAt(in, "format"));
  putText(out, 4, textAt(in, "description"));
  if (const auto* required = find(in, "required"); required && required->is_array())
    for (const auto& name : required->get_array())
      putBytes(out, 19, std::string_view(name.get_string()));
  if (const auto* extra = find(in, "additionalProperties"); extra && extra->is_object()) {
    std::string item;
    putBytes(item, 1, schema(*extra));
    putBytes(out, 21, item);
  }
  if (const auto type = textAt(in, "type"); !type.empty()) {
    std::string item;
    putBytes(item, 1, type);
    putBytes(out, 22, item);
  }
  if (const auto* items = find(in, "items"); items && items->is_object()) {
    std::string item;
    putBytes(item, 1, schema(*items));
    putBytes(out, 23, item);
  }
  if (const auto* properties = find(in, "properties"); properties && properties->is_object()) {
    std::string all;
    for (const auto& member : properties->get_object()) {
      std::string named;
      putText(named, 1, member.key());
      putBytes(named, 2, schema(member.value()));
      putBytes(all, 1, named);
    }
    putBytes(out, 25, all);
  }
  if (in.is_object()) putExtensions(out, 31, in.get_object());
  return out;
}

std::string parameter(const value& in) {
  // ParametersItem.parameter -> Parameter.nonBodyParameter -> queryParameterSubSchema
  std::string query;
  putText(query, 2, textAt(in, "in"));
  putText(query, 4, textAt(in, "name"));
  putText(query, 6, textAt(in, "type"));
  std::string nonBody;
  putBytes(nonBody, 3, query);
  std::string wrapped;
  putBytes(wrapped, 2, nonBody);
  std::string item;
  putBytes(item, 1, wrapped);
  return item;
}

std::string operationOf(const value& in) {
  std::string out;
  if (const auto* parameters = find(in, "parameters"); parameters && parameters->is_array())
    for (const auto& one : parameters->get_array()) putBytes(out, 8, parameter(one));
  putExtensions(out, 13, in.get_object());
  return out;
}

std::string pathItem(const value& in) {
  constexpr std::pair<const char*, unsigned> kVerbs[] = {
      {"get", 2}, {"put", 3}, {"post", 4}, {"delete", 5}, {"patch", 8}};
  std::string out;
  for (const auto& [verb, field] : kVerbs)
    if (const auto* operation = find(in, verb)) putBytes(out, field, operationOf(*operation));
  return out;
}

}  // namespace

std::string openApiV2Proto(const Registry& registry) {
  const value document = openApiV2Value(registry);
  std::string out;
  putText(out, 1, textAt(document, "swagger"));
  std::string info;
  putText(info, 1, textAt(document, "info", "title"));
  putText(info, 2, textAt(document, "info", "version"));
  putBytes(out, 2, info);
  std::string paths;
  for (const auto& member : membersOf(memberOf(document, "paths"))) {
    std::string named;
    putText(named, 1, member.key());
    putBytes(named, 2, pathItem(member.value()));
    putBytes(paths, 2, named);
  }
  putBytes(out, 8, paths);
  std::string definitions;
  for (const auto& member : membersOf(memberOf(document, "definitions"))) {
    std::string named;
    putText(named, 1, member.key());
    putBytes(named, 2, schema(member.value()));
    putBytes(definitions, 1, named);
  }
  putBytes(out, 9, definitions);
  return out;
}

}  // namespace koord::apiserver
