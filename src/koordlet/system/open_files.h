#pragma once

// Keeps small files open that are read every second: for cgroup files, the path look-up costs up to
// ten times as much as the read. The next read detects that a file's cgroup was removed, and opens
// the path again. Not thread-safe.

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/result.h"

namespace koord::koordlet {

class OpenFiles {
 public:
  // Keeps at most `capacity` files open; further files are opened for each read.
  explicit OpenFiles(std::size_t capacity = defaultCapacity());
  ~OpenFiles();
  OpenFiles(const OpenFiles&) = delete;
  OpenFiles& operator=(const OpenFiles&) = delete;

  // Like readSmallFile.
  Result<> read(const std::string& path, std::string& content);
  // Closes files that were not read since the last call.
  void closeUnused();
  std::size_t size() const { return files_.size(); }

  // Half of the process's limit of open files.
  static std::size_t defaultCapacity();

 private:
  struct File {
    int fd;
    bool reportsRemoval;  // reads fail once the file is gone: cgroup file systems
    bool used;
  };
  // Returns false if the file was removed.
  static bool readFrom(const File& file, std::string& content);

  std::size_t capacity_;
  std::unordered_map<std::string, File> files_;
};

}  // namespace koord::koordlet
