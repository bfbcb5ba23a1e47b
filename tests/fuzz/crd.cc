// The schema of a custom resource and an object under it: the first line is an openAPIV3Schema, the
// rest the object, both JSON. Bringing an object into form a second time changes nothing.

#include "apiserver/registry/crd.h"

#include "apiserver/objects/normalize.h"
#include "apiserver/rules/custom_rules.h"
#include "fuzz.h"

namespace koord::fuzz {

void crd(std::string_view input) {
  const auto [first, rest] = firstLine(input);
  const auto openApi = parseJson(first);
  if (!openApi) return;
  api::SchemaSet set;
  const auto schema = apiserver::compileSchema(set, *openApi);
  auto object = parseJson(rest);
  if (!schema || !object) return;
  apiserver::prune(*object, **schema);
  if (!apiserver::applyDefaults(*object, **schema)) return;  // too many
  apiserver::FieldErrors errors;
  apiserver::validateCustom(*object, **schema, errors);
  if (const auto rules = apiserver::CustomRules::compile(**schema)) {
    rules->check(*object, nullptr);
    rules->check(*object, &*object);
  }
  json::value again = *object;
  check(apiserver::applyDefaults(again, **schema) && again == *object,
        "defaults are filled in once");
}

}  // namespace koord::fuzz
