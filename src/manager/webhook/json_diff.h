#pragma once

// The difference of two documents as a JSON patch (RFC 6902).

#include "base/json.h"

namespace koord::manager {

// The operations from `before` to `after`: add, remove, replace. Compares members one by one and
// lists of equal length element by element; replaces other lists.
json::array createJsonPatch(const json::value& before, const json::value& after);

}  // namespace koord::manager
