#pragma once

// The folders on this machine that are volumes: one for each PersistentVolume of the host node,
// below one folder that nobody but root can write to. A folder's name is the volume's; names that
// are more than one plain component of a path are refused, and what a volume's spec says of paths
// is never looked at, so nothing outside can be made or removed.

#include <string>

#include "base/result.h"

namespace koord::cluster {

class VolumeFolders {
 public:
  explicit VolumeFolders(std::string root) : root_(std::move(root)) {}

  // Makes the folder, mode 0777 so that containers of any user can write; one that is there stays
  // as it is. The path.
  Result<std::string> make(const std::string& volume) const;
  // Removes at most `limit` files and folders of it; true when nothing of it is left. Links are
  // removed and not followed. Blocks for that long: a large one is removed in several calls.
  Result<bool> remove(const std::string& volume, int limit) const;

 private:
  Result<std::string> pathOf(const std::string& volume) const;

  std::string root_;
};

}  // namespace koord::cluster
