#pragma once

// Strategic merge patches: like merge patches, but lists whose elements have a key merge element by
// element, and directives express what values cannot:
//   "$patch": replace | delete | merge         on an object or list element
//   "$retainKeys": [...]                       the members of an object that stay
//   "$deleteFromPrimitiveList/LIST": [...]     values to remove from a list of plain values
//   "$setElementOrder/LIST": [...]             the order of a merging list
//
// The schema (api/schema) says which lists merge, and by which key.

#include "api/schema/schema.h"
#include "base/json.h"
#include "base/result.h"

namespace koord::api {

// Limit on the comparisons for the merging lists of one patch; exceeding it is
// RequestEntityTooLarge.
constexpr std::size_t kMaxPatchComparisons = 50'000'000;

// Handles fields that the schema lacks as plain: objects merge, lists are replaced.
Result<json::value> applyStrategicPatch(const json::value& document, const json::value& patch,
                                        const Schema& schema);

}  // namespace koord::api
