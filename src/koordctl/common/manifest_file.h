#pragma once

// Reads a file that a flag names; "-" is standard input.

#include <string>

#include "base/result.h"

namespace koord::koordctl {

Result<std::string> readManifestFile(const std::string& file);

}  // namespace koord::koordctl
