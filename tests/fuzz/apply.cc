// Server-side apply: the first line is the object that is there, the rest what is applied to it,
// both JSON. What is merged once stays the same when it is merged again, and the fields of what was
// applied survive being written down.

#include "api/patch/typed_fields.h"
#include "api/schema/builtin.h"
#include "fuzz.h"

namespace koord::fuzz {

void apply(std::string_view input) {
  static const api::SchemaSet types = api::builtinTypes();
  const auto [first, rest] = firstLine(input);
  const auto live = parseJson(first);
  const auto applied = parseJson(rest);
  if (!live || !applied || !live->is_object() || !applied->is_object()) return;
  for (const char* kind : {"Pod", "Service"}) {
    const api::Schema* schema = types.find(kind);
    if (!api::checkApplied(*live, schema) || !api::checkApplied(*applied, schema)) continue;
    const auto merged = api::mergeFields(*live, *applied, schema);
    check(api::mergeFields(merged, *applied, schema) == merged, "applying twice is applying once");
    const auto fields = api::fieldsOf(*applied, schema);
    std::string text;
    api::appendText(text, fields);
    const auto document = parseJson(text);
    check(document.has_value(), "the text of a set of fields is JSON");
    const auto again = api::parseFieldSet(*document);
    check(again && *again == fields, "and reads as the set");
    (void)api::pathsOf(fields);
    (void)api::removeFields(merged, fields, schema);
  }
}

}  // namespace koord::fuzz
