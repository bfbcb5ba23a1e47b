#pragma once

// A file whose disk space is reserved long before it is written, for data that must not be lost
// when the disk is full. Blocks; for one thread.

#include <sys/types.h>

#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"

namespace koord::cluster {

class ReservedFile {
 public:
  // Frees the space unless put() has succeeded. In a forked child it does nothing.
  ~ReservedFile();
  ReservedFile(ReservedFile&&) = default;
  ReservedFile& operator=(ReservedFile&&) = delete;

  // Reserves the space in a file next to `path`, which does not change until put().
  static Result<ReservedFile> reserve(std::string path, std::size_t bytes);
  // Writes the text to `path` atomically. Call once. A text larger than the reserved space may fail
  // on a full disk.
  Result<> put(std::string_view text);

 private:
  ReservedFile(std::string path, Fd file);
  std::string reservedPath() const { return path_ + ".reserved"; }

  std::string path_;
  Fd file_;      // none: there is nothing to free
  pid_t owner_;  // the process that frees the space
};

}  // namespace koord::cluster
