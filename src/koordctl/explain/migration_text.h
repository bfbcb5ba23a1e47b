#pragma once

// What a PodMigrationJob has come to, as text of at most 80 columns where words allow it. Nothing of it fails,
// whatever the documents are.

#include <string>

#include "base/json.h"

namespace koord::koordctl {

// {"job": {...}, "reservation": {...} or null, "events": [...]}, as the API server has them.
std::string migrationText(const json::value& answer);

}  // namespace koord::koordctl
