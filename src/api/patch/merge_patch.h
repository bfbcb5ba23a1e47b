#pragma once

// JSON merge patches (RFC 7386): null deletes a member, objects merge, everything else replaces.

#include "base/json.h"
#include "base/result.h"

namespace koord::api {

// Removes null members from objects at any depth. A null in a patch deletes; if there is nothing to
// delete, it must not be stored.
void dropNulls(json::value& value);

Result<json::value> applyMergePatch(const json::value& document, const json::value& patch);

// The patch that turns `original` into `modified`; both must be objects, or both lists.
Result<json::value> createMergePatch(const json::value& original, const json::value& modified);

// The patch of an "apply": the changes from current to modified, and deletions of what original
// (the last applied) has and modified lacks. Fields that others set stay.
Result<json::value> createThreeWayMergePatch(const json::value& original,
                                             const json::value& modified,
                                             const json::value& current);

}  // namespace koord::api
