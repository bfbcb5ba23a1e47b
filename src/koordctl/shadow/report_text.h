#pragma once

// The report of a shadow scheduler (GET /apis/v1/shadow) as text for a terminal.

#include <string>

#include "base/json.h"

namespace koord::koordctl {

// differences: how many of the last ones are shown. Missing or invalid members of the report are
// left out.
std::string shadowText(const json::value& report, std::size_t differences);

}  // namespace koord::koordctl
