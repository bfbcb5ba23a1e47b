#pragma once

// JSONPath as Kubernetes uses it in printer columns and in waits: ".spec.ports[0].name",
// "{.status.phase}", ".items[*].name", ".metadata.labels.app\.kubernetes\.io/name" or "['name']",
// and filters of one comparison (==, !=, <, <=, >, >=) of a member with a literal,
// ".status.conditions[?(@.type==\"Ready\")].status". A literal in quotes is a string; without them
// it is a number, true, false, null, or else a string. A number and a string are never equal and
// have no order. A leading "$" and the braces may be left out.

#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace koord {

// The values within `document` that the path selects, in order; empty if it selects none. Invalid
// if the path cannot be parsed. The cost is at most the size of the document for each part of the
// path.
Result<std::vector<const json::value*>> jsonPath(const json::value& document,
                                                 std::string_view path);

}  // namespace koord
