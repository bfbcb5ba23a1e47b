#pragma once

// Paths below a folder whose content is untrusted, such as a volume: neither a symbolic link nor
// ".." nor a race leads out of it (base/beneath.h), and the result is held by a descriptor. Any
// thread; calls block.

#include <dirent.h>

#include <string>
#include <utility>

#include "base/result.h"

namespace koord::cluster {

// Owns a file descriptor and closes it.
class Fd {
 public:
  explicit Fd(int fd = -1) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Fd();
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_;
};

// Closes a folder from opendir or fdopendir.
struct CloseDir {
  void operator()(DIR* dir) const { ::closedir(dir); }
};

// Opens what is there (O_PATH). NotFound if there is nothing; Forbidden if the path leads out of
// the folder.
Result<Fd> openBeneath(const std::string& folder, const std::string& relative);
// The same, but creates missing folders, with the mode of `folder`.
Result<Fd> makeBeneath(const std::string& folder, const std::string& relative);

// Removes a folder with its content. Does not enter mounts: they are an error and stay.
Result<> removeTree(const std::string& path);

}  // namespace koord::cluster
