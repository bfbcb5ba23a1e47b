#pragma once

// The file that koordlet reads. It is replaced atomically. The temporary file is in a folder beside
// it, because upstream's koordlet reads every file of the folder and stops at the first incomplete
// one.

#include <string>
#include <vector>

#include "devicedaemon/found.h"

namespace koord::devicedaemon {

class DeviceFile {
 public:
  // path "": standard output.
  explicit DeviceFile(std::string path) : path_(std::move(path)) {}
  const std::string& path() const { return path_; }

  Result<> write(const std::vector<Found>& devices) const;
  // Removes the file, when it will not be updated.
  Result<> remove() const;

 private:
  std::string temporaryFolder() const;

  std::string path_;
};

}  // namespace koord::devicedaemon
