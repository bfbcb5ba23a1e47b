#pragma once

// Whole small files: configuration, certificates, state. Errors carry the path.

#include <string>
#include <string_view>

#include "base/result.h"

namespace koord {

Result<std::string> readFile(const std::string& path);

// Replaces the file in one step: readers see the old text or the new one, also after a crash.
Result<> writeFileAtomic(const std::string& path, std::string_view text, unsigned mode = 0600);

// A folder with its parents; existing ones are fine.
Result<> makeDirs(const std::string& path, unsigned mode = 0700);

}  // namespace koord
