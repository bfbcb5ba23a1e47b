#pragma once

// JSON patches (RFC 6902), as the Kubernetes API server applies them: negative list indexes count
// from the end, "replace" may add a member, and null stands for a missing member in "test" and
// "copy".

#include <cstddef>

#include "base/json.h"
#include "base/result.h"

namespace koord::api {

// Limits of one patch; exceeding them is RequestEntityTooLarge. The first two are kube-apiserver's.
constexpr std::size_t kMaxPatchOperations = 10'000;
constexpr std::size_t kMaxPatchCopyBytes = 3 << 20;  // what "copy" operations add, as JSON text
constexpr std::size_t kMaxPatchWork = 50'000'000;    // values that operations walk or shift

// Returns the document after all operations of the patch; an error leaves the document unchanged.
// The document cannot become deeper than kMaxJsonDepth. `testFailed`, if given, receives true if
// the error is that of a "test" operation that found another value.
Result<json::value> applyJsonPatch(const json::value& document, const json::value& patch,
                                   bool* testFailed = nullptr);

}  // namespace koord::api
