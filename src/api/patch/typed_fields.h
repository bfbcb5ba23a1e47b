#pragma once

// The fields of an object as its schema tells them apart: structs and maps field by field, lists
// with keys element by element, atomic lists and maps as one value. Follows the rules of
// Kubernetes' structured merge, so that owners of fields come out the same.
//
// Without a schema (null, or type Any) objects are handled field by field, and lists are atomic.

#include "api/patch/field_set.h"
#include "api/schema/schema.h"

namespace koord::api {

// What the walkers of this folder ask of a schema.
const Schema* memberSchema(const Schema* schema, std::string_view name);
bool isAtomic(const Schema* schema, const json::value& value);
// How a set names this element of a list that is not atomic; an error when it has none of its keys.
Result<PathElement> elementOf(const json::value& item, const Schema& list);

// The fields that an applied configuration has an opinion on.
FieldSet fieldsOf(const json::value& value, const Schema* schema);

struct FieldChanges {
  FieldSet added, modified, removed;

  bool empty() const { return added.empty() && modified.empty() && removed.empty(); }
};

// From `before` to `after`. A new object is compared with an empty one; structs that are always
// there by their type do not count as added.
FieldChanges compareFields(const json::value& before, const json::value& after,
                           const Schema* schema);

// FieldsV1 of a new object: the text of what compareFields has as added and modified when it
// compares with {}, in one walk and without sets. `without` are members that are not written; nor
// is what is below them, unless they name it in part.
std::string newFieldsText(const json::value& object, const Schema* schema, const FieldSet& without);

// `live` with `applied` on top: what is applied replaces what is there, the rest stays. Elements of
// lists come in the order in which they are applied, others keep their places between them.
json::value mergeFields(const json::value& live, const json::value& applied, const Schema* schema);

// The value without these fields; objects and lists that become empty go with them.
json::value removeFields(const json::value& value, const FieldSet& fields, const Schema* schema);

// The set and the struct fields above its fields.
FieldSet withStructs(FieldSet set, const Schema* schema);

// Whether the value can be applied: fields that the schema knows, no element twice in a list. The
// error begins with the path: ".spec.ports: ...".
Result<> checkApplied(const json::value& value, const Schema* schema);

}  // namespace koord::api
