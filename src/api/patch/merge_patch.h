#pragma once

// JSON merge patches (RFC 7386): null deletes a member, objects merge, everything else replaces.

#include "base/json.h"
#include "base/result.h"

namespace koord::api {

// Takes null members out of objects, however deep. A null in a patch deletes; where there is
// nothing to delete it must not be stored.
void dropNulls(json::value& value);

Result<json::value> applyMergePatch(const json::value& document, const json::value& patch);

// The patch that makes `modified` of `original`; both must be objects, or both lists.
Result<json::value> createMergePatch(const json::value& original, const json::value& modified);

// What an "apply" sends: changes from current to modified, and deletions of what was in original
// (the last applied) and is not in modified. Fields set by others stay.
Result<json::value> createThreeWayMergePatch(const json::value& original,
                                             const json::value& modified,
                                             const json::value& current);

}  // namespace koord::api
