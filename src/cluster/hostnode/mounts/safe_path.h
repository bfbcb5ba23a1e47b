#pragma once

// Paths below a folder whose content is untrusted, such as a volume: neither a symbolic link nor
// ".." nor a race leads out of it (base/beneath.h), and the result is held by a descriptor. Any
// thread; calls block.

#include <dirent.h>

#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace koord::cluster {

// Closes a folder from opendir or fdopendir.
struct CloseDir {
  void operator()(DIR* dir) const { ::closedir(dir); }
};

// Opens what is there (O_PATH). NotFound if there is nothing; Forbidden if the path leads out of
// the folder.
Result<Fd> openBeneath(const std::string& folder, const std::string& relative);
// The same, but creates missing folders, with the mode of `folder`.
Result<Fd> makeBeneath(const std::string& folder, const std::string& relative);

// Removes a folder with its content. Does not enter mounts: they are an error and stay.
Result<> removeTree(const std::string& path);

}  // namespace koord::cluster
