#pragma once

// The pod of a manifest: the pod itself, or the pod that a workload would create from its template.

#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace koord::koordctl {

// Uses the first document with a pod. The result has a name and a namespace: `namespace_` if the
// file has none.
Result<json::value> podInFile(std::string_view yaml, const std::string& namespace_ = "default");

}  // namespace koord::koordctl
