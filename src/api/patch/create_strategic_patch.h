#pragma once

// Makes strategic merge patches, as `kubectl edit` and controllers send them: the shortest patch
// that turns one object into another, with the directives that deletions and orders need.

#include "api/schema/schema.h"
#include "base/json.h"
#include "base/result.h"

namespace koord::api {

// Patches from `original` to `modified`.
Result<json::value> createTwoWayPatch(const json::value& original, const json::value& modified,
                                      const Schema& schema);

}  // namespace koord::api
