#pragma once

// The file that koordlet reads. It is replaced in one step, and the half-written one lies in a folder
// beside it: upstream's koordlet reads every file of its folder, and gives up at the first that is torn.

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
  // Takes it away, when nobody keeps it current any more.
  Result<> remove() const;

 private:
  std::string halfFolder() const;

  std::string path_;
};

}  // namespace koord::devicedaemon
