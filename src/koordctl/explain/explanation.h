#pragma once

// The scheduler's answer to "why is this pod where it is" (GET /apis/v1/explain/pods/NS/NAME), as
// text for a terminal.

#include <string>

#include "base/json.h"

namespace koord::koordctl {

// Skips lines for members that the answer lacks. Never fails, for any document.
std::string explanationText(const json::value& answer);

}  // namespace koord::koordctl
