#pragma once

// Opens and removes files below a folder whose content is not trusted: no symbolic link, no ".."
// and no race with either leads out of it. The kernel resolves the path (openat2). If there is no
// openat2 (Linux before 5.6, seccomp profiles of old container runtimes), the path is walked part
// by part, without following a link, with the same results.
//
// The functions that open return an empty Fd and set errno if they fail: EXDEV if the path leads
// out or into a mount, ELOOP, ENOENT and others as of open. Any thread; calls block.

#include <dirent.h>

#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace koord {

// Opens the folder of that name for reading. The name has no slash. Fails for a link or a mount.
Fd openFolderIn(int folder, const char* name);

// Opens the path with O_PATH; "" is the folder itself. Follows links that stay inside, including
// the last one.
Fd openBeneath(int folder, const char* path);

struct CloseDir {
  void operator()(DIR* dir) const { ::closedir(dir); }
};

// Removes a folder and at most `limit` files and folders in it. Returns true if nothing is left.
// Links are removed, not followed; a folder that does not exist is removed already. Fails at a
// mount, which is not part of the folder, and at more than 500 nested folders: each keeps a
// descriptor open.
Result<bool> removeFolder(const std::string& path, int limit);

}  // namespace koord
