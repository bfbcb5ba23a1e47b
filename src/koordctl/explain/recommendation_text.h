#pragma once

// How a recommendation came about, container by container: what is known of the use, the range in which the
// right amounts are, and what is asked for now. Nothing of it fails, whatever the document is.

#include <string>

#include "base/json.h"

namespace koord::koordctl {

// koord-manager's /apis/v1/explain/recommendations/NAMESPACE/NAME
std::string recommendationText(const json::value& answer);

}  // namespace koord::koordctl
