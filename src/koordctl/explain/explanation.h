#pragma once

// The scheduler's answer to "why is this pod where it is" (GET /apis/v1/explain/pods/NS/NAME), as
// text for a terminal.

#include <string>

#include "base/json.h"

namespace koord::koordctl {

// Lines without what the answer does not have; never fails, whatever the document is.
std::string explanationText(const json::value& answer);

}  // namespace koord::koordctl
