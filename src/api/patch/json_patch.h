#pragma once

// JSON patches (RFC 6902), as the Kubernetes API server applies them: negative list indexes count
// from the end, "replace" may add a member, and null stands for a missing member in "test" and
// "copy".

#include "base/json.h"
#include "base/result.h"

namespace koord::api {

// The document after all operations of the patch; on an error the document is as it was.
Result<json::value> applyJsonPatch(const json::value& document, const json::value& patch);

}  // namespace koord::api
