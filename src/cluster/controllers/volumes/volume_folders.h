#pragma once

// The host's volume folders: one for each PersistentVolume of the host node, below one folder that
// only root can write to. A folder has the name of its volume. Names that are not one plain path
// component are rejected, and paths in a volume's spec are ignored, so nothing outside can be
// created or removed.

#include <string>

#include "base/result.h"

namespace koord::cluster {

class VolumeFolders {
 public:
  explicit VolumeFolders(std::string root) : root_(std::move(root)) {}

  // Creates the folder, with mode 0777 so that containers of any user can write; keeps an existing
  // one. Returns its path.
  Result<std::string> make(const std::string& volume) const;
  // Removes at most `limit` files and folders; returns true if nothing is left. Links are removed,
  // not followed. Blocks: remove a large folder in several calls.
  Result<bool> remove(const std::string& volume, int limit) const;

 private:
  Result<std::string> pathOf(const std::string& volume) const;

  std::string root_;
};

}  // namespace koord::cluster
