#pragma once

// The reasons of a recommendation, per container: the observed usage, the range of recommended
// amounts, and the current requests. Never fails, for any document.

#include <string>

#include "base/json.h"

namespace koord::koordctl {

// koord-manager's /apis/v1/explain/recommendations/NAMESPACE/NAME
std::string recommendationText(const json::value& answer);

}  // namespace koord::koordctl
