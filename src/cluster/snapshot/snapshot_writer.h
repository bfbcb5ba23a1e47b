#pragma once

// Writes a snapshot. Blocks; one thread. Errors name the file. Without finish() nothing is left.

#include <cstdint>
#include <memory>
#include <string>

#include "cluster/snapshot/snapshot.h"

namespace koord::cluster {

class SnapshotWriter {
 public:
  // Does not replace an existing file: AlreadyExists. Conflict if another process writes it.
  static Result<std::unique_ptr<SnapshotWriter>> create(const std::string& path,
                                                        const SnapshotHeader& header);
  ~SnapshotWriter();
  SnapshotWriter(const SnapshotWriter&) = delete;
  SnapshotWriter& operator=(const SnapshotWriter&) = delete;

  // Objects of one resource follow each other; call all before addTree. The text has no line
  // breaks.
  Result<> addObject(const std::string& resource, std::string_view text);
  // The file, or the folder with all in it, at root/path. Links are stored as links. Sockets and
  // devices are left out. A path that does not exist is nothing.
  Result<> addTree(const std::string& root, const std::string& path);
  Result<> finish();

  std::uint64_t objects() const;
  std::uint64_t files() const;

 private:
  class Archive;
  explicit SnapshotWriter(std::unique_ptr<Archive> archive);
  Result<> flushObjects();
  Result<> addOne(const std::string& root, const std::string& path);

  std::unique_ptr<Archive> archive_;
  std::string resource_;
  std::string lines_;
  int part_ = 0;
  std::uint64_t objects_ = 0;
  std::uint64_t files_ = 0;
};

}  // namespace koord::cluster
