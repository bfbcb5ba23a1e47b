#pragma once

// A file whose room on the disk is taken long before it is written: what must not be lost when the disk is full.
// Blocks; for one thread.

#include <string>
#include <string_view>

#include "base/result.h"
#include "cluster/hostnode/mounts/safe_path.h"

namespace koord::cluster {

class ReservedFile {
 public:
  // Takes the room in a file beside `path`, which stays as it is, or is not there, until put.
  static Result<ReservedFile> reserve(std::string path, std::size_t bytes);
  // Makes `path` the text, whole or not at all. Once. A text that is longer than the room may fail on a full disk.
  Result<> put(std::string_view text);

 private:
  ReservedFile(std::string path, Fd file) : path_(std::move(path)), file_(std::move(file)) {}
  std::string besides() const { return path_ + ".reserved"; }

  std::string path_;
  Fd file_;
};

}  // namespace koord::cluster
