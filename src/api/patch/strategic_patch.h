#pragma once

// Strategic merge patches: like merge patches, but lists whose elements have a key merge element by
// element, and directives say what cannot be said by giving values:
//   "$patch": replace | delete | merge         on an object or list element
//   "$retainKeys": [...]                       the members of an object that stay
//   "$deleteFromPrimitiveList/LIST": [...]     values to take out of a list of plain values
//   "$setElementOrder/LIST": [...]             the order of a merging list
// Which lists merge, and by which key, comes from the schema (api/schema).

#include "api/schema/schema.h"
#include "base/json.h"
#include "base/result.h"

namespace koord::api {

// What the merging lists of one patch may need; more is RequestEntityTooLarge.
constexpr std::size_t kMaxPatchComparisons = 50'000'000;

// Fields that the schema does not know are taken as plain: objects merge, lists are replaced.
Result<json::value> applyStrategicPatch(const json::value& document, const json::value& patch,
                                        const Schema& schema);

}  // namespace koord::api
