#pragma once

// The fields of an object as its schema divides them: structs and maps field by field, lists with
// keys element by element, atomic lists and maps as one value. Follows the rules of Kubernetes'
// structured merge, so that fields have the same owners.
//
// Without a schema (null, or type Any) objects are handled field by field, and lists are atomic.

#include "api/patch/field_set.h"
#include "api/schema/schema.h"

namespace koord::api {

// Questions about a schema, for the walkers of this folder.
const Schema* memberSchema(const Schema* schema, std::string_view name);
bool isAtomic(const Schema* schema, const json::value& value);
// The path element of a list element whose list is not atomic; an error if the element has none of
// its keys.
Result<PathElement> elementOf(const json::value& item, const Schema& list);

// The fields that an applied configuration sets.
FieldSet fieldsOf(const json::value& value, const Schema* schema);

struct FieldChanges {
  FieldSet added, modified, removed;

  bool empty() const { return added.empty() && modified.empty() && removed.empty(); }
};

// The changes from `before` to `after`. Compare a new object with an empty object; structs that
// their type makes always present do not count as added.
FieldChanges compareFields(const json::value& before, const json::value& after,
                           const Schema* schema);

// FieldsV1 of a new object: the text of the fields that compareFields() returns as added and
// modified in a comparison with {}, in one walk and without sets. Omits the members in `without`,
// and what is below them unless `without` names it in part.
std::string newFieldsText(const json::value& object, const Schema* schema, const FieldSet& without);

// `live` merged with `applied`: applied values replace existing values, the rest stays. List
// elements take the order of `applied`; others keep their places between them.
json::value mergeFields(const json::value& live, const json::value& applied, const Schema* schema);

// The value without these fields, and without the objects and lists that become empty.
json::value removeFields(const json::value& value, const FieldSet& fields, const Schema* schema);

// Adds the struct fields above the fields of the set.
FieldSet withStructs(FieldSet set, const Schema* schema);

// Checks that the value can be applied: the schema has all fields, and no list has an element
// twice. The error begins with the path: ".spec.ports: ...".
Result<> checkApplied(const json::value& value, const Schema* schema);

}  // namespace koord::api
