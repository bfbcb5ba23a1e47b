#pragma once

// What changed between two documents, as a JSON patch (RFC 6902).

#include "base/json.h"

namespace koord::manager {

// Operations that make `after` of `before`: add, remove, replace. Members are compared one by one;
// lists of equal length element by element, others are replaced.
json::array createJsonPatch(const json::value& before, const json::value& after);

}  // namespace koord::manager
