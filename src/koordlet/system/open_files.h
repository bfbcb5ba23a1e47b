#pragma once

// Small files that are read every second, kept open: for cgroup files, finding the file costs up to
// ten times as much as reading it. A file whose cgroup is gone is found out at the next read and
// looked up anew. Not thread-safe.

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/result.h"

namespace koord::koordlet {

class OpenFiles {
 public:
  // At most so many are kept open; further ones are opened for each read.
  explicit OpenFiles(std::size_t capacity = defaultCapacity());
  ~OpenFiles();
  OpenFiles(const OpenFiles&) = delete;
  OpenFiles& operator=(const OpenFiles&) = delete;

  // As readSmallFile.
  Result<> read(const std::string& path, std::string& content);
  // Closes what was not read since the last call.
  void closeUnused();
  std::size_t size() const { return files_.size(); }

  // Half of what the process may open.
  static std::size_t defaultCapacity();

 private:
  struct File {
    int fd;
    bool tellsRemoval;  // reads fail once the file is gone: cgroup file systems
    bool used;
  };
  // False when the file is no longer there.
  static bool readFrom(const File& file, std::string& content);

  std::size_t capacity_;
  std::unordered_map<std::string, File> files_;
};

}  // namespace koord::koordlet
