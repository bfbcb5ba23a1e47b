#pragma once

#include "cel/library.h"

namespace koord::cel {

// Kubernetes' library of JSON patches, for mutating admission policies: the type JSONPatch{op,
// path, from, value} and jsonpatch.escapeKey("a/b") for parts of paths.
const Library& jsonPatchLibrary();

const Type& jsonPatchType();  // JSONPatch

}  // namespace koord::cel
