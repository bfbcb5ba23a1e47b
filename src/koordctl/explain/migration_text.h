#pragma once

// The state of a PodMigrationJob as text, at most 80 columns wide where words allow it. Never
// fails, for any document.

#include <string>

#include "base/json.h"

namespace koord::koordctl {

// {"job": {...}, "reservation": {...} or null, "events": [...]}, as in the API server.
std::string migrationText(const json::value& answer);

}  // namespace koord::koordctl
