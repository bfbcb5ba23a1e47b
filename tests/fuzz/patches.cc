// Patches of documents: the first line is the document, the rest the patch, both JSON. Applying
// ends with a document or an error, and is the same each time; patches that are made do what they
// were made for.

#include "api/patch/create_strategic_patch.h"
#include "api/patch/json_patch.h"
#include "api/patch/merge_patch.h"
#include "api/patch/strategic_patch.h"
#include "api/schema/builtin.h"
#include "fuzz.h"

namespace koord::fuzz {
namespace {

struct Input {
  json::value document, patch;
};

Result<Input> read(std::string_view input) {
  const auto [first, rest] = firstLine(input);
  auto document = parseJson(first);
  if (!document) return fail(std::move(document.error()));
  auto patch = parseJson(rest);
  if (!patch) return fail(std::move(patch.error()));
  return Input{*std::move(document), *std::move(patch)};
}

bool hasNulls(const json::value& value) {
  if (value.is_null()) return true;
  if (const auto* list = value.if_array()) {
    for (const auto& element : *list)
      if (hasNulls(element)) return true;
  } else if (const auto* object = value.if_object()) {
    for (const auto& member : *object)
      if (hasNulls(member.value())) return true;
  }
  return false;
}

}  // namespace

void jsonPatch(std::string_view input) {
  const auto given = read(input);
  if (!given) return;
  const auto once = api::applyJsonPatch(given->document, given->patch);
  const auto twice = api::applyJsonPatch(given->document, given->patch);
  check(once.has_value() == twice.has_value() && (!once || *once == *twice),
        "a patch does the same each time");
}

void mergePatch(std::string_view input) {
  const auto given = read(input);
  if (!given) return;
  const auto patched = api::applyMergePatch(given->document, given->patch);
  if (!patched) return;
  const auto again = api::applyMergePatch(*patched, given->patch);
  check(again && *again == *patched, "a merge patch that was applied changes nothing more");
  // A merge patch cannot say that a member becomes null.
  if (!given->document.is_object() || !patched->is_object() || hasNulls(*patched)) return;
  const auto made = api::createMergePatch(given->document, *patched);
  check(made.has_value(), "there is a patch between any two objects");
  const auto applied = api::applyMergePatch(given->document, *made);
  check(applied && *applied == *patched, "a merge patch does what it was made for");
}

void strategicPatch(std::string_view input) {
  static const api::SchemaSet types = api::builtinTypes();
  const auto given = read(input);
  if (!given) return;
  for (const char* kind : {"Pod", "Service"}) {
    const api::Schema& schema = *types.find(kind);
    const auto once = api::applyStrategicPatch(given->document, given->patch, schema);
    const auto twice = api::applyStrategicPatch(given->document, given->patch, schema);
    check(once.has_value() == twice.has_value() && (!once || *once == *twice),
          "a patch does the same each time");
    // Seen as two versions of an object, the texts have a patch between them or a reason why not.
    const auto made = api::createTwoWayPatch(given->document, given->patch, schema);
    if (made) (void)api::applyStrategicPatch(given->document, *made, schema);
  }
}

}  // namespace koord::fuzz
