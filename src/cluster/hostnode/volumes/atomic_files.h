#pragma once

// Files of a volume that change atomically, by the kubelet's scheme, so that a reader never sees
// half of a change and a watcher of "..data" sees each change:
//
//   <folder>/..2026_01_31_08_00_00.Ab3dEf/key   the files, in a folder of their own each time
//   <folder>/..data -> ..2026_01_31_...         exchanged by rename: the one step that counts
//   <folder>/key -> ..data/key                  what containers open
//
// Any thread; calls block. After a crash at any point either the old or the new files are in use.

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/executor.h"
#include "base/result.h"

namespace koord::cluster {

struct FileContent {
  std::string data;
  std::uint32_t mode = 0644;
  std::optional<std::uint32_t> owner = {};  // user id; default: root
  bool operator==(const FileContent&) const = default;
};
// By path below the folder. No path is absolute, has "..", or a first part that begins with "..".
using Payload = std::map<std::string, FileContent>;

// Makes the folder have exactly these files. group: owner of files and folders, which it can read.
// Returns true if something changed.
Result<bool> writePayload(const std::string& folder, const Payload& payload,
                          std::optional<std::uint32_t> group, WallTime now);

}  // namespace koord::cluster
