#pragma once

// All objects of one moment as a database, the form in which other commands of koordctl read them.

#include <cstdint>
#include <string>
#include <vector>

#include "apiserver/store/storage.h"

namespace koord::cluster {

struct ObjectCopy {
  std::uint64_t version = 0;  // of the last change
  std::vector<apiserver::Change> changes;
};

// Makes a new database; blocks until it is on disk. If it fails, the file does not exist.
Result<> writeObjects(const std::string& path, const ObjectCopy& copy);

// Copies in a data folder have names that begin with this.
inline constexpr const char* kCopyPrefix = "copy-";
void removeCopy(const std::string& path);
// Removes the copies that an earlier process left.
void removeCopies(const std::string& dataDir);

}  // namespace koord::cluster
