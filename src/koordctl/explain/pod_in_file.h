#pragma once

// The pod a manifest is about: itself, or what a workload would make of its template.

#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace koord::koordctl {

// Of the first document that has a pod. It has a name and a namespace ("default" if none is given).
Result<json::value> podInFile(std::string_view yaml);

}  // namespace koord::koordctl
