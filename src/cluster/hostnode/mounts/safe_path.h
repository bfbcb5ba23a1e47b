#pragma once

// Paths below a folder whose content is untrusted, such as a volume: neither a symbolic link nor
// ".." nor a race leads out of it (base/beneath.h), and the result is held by a descriptor. Any
// thread; calls block.

#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace koord::cluster {

// Opens what is there (O_PATH). NotFound if there is nothing; Forbidden if the path leads out of
// the folder.
Result<Fd> openBeneath(const std::string& folder, const std::string& relative);
// The same, but creates missing folders, with the mode of `folder`.
Result<Fd> makeBeneath(const std::string& folder, const std::string& relative);

// Removes a folder with all its content (base/beneath.h).
Result<> removeTree(const std::string& path);

}  // namespace koord::cluster
