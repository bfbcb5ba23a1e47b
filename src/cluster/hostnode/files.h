#pragma once

// Small files of the data folder, whole.

#include <string>
#include <string_view>

#include "base/result.h"

namespace koord::cluster {

Result<std::string> readFile(const std::string& path);
// Written to a new file beside it, which then takes its name: a reader never sees half of it.
Result<> writeFileAtomic(const std::string& path, std::string_view text, unsigned mode = 0600);
// With its parents; existing ones are fine.
Result<> makeDirs(const std::string& path, unsigned mode = 0700);

}  // namespace koord::cluster
