#pragma once

// Paths below a folder whose content somebody else writes, a volume above all: no symbolic link, no
// ".." and no race with either leads out of it (base/beneath.h), and what is found is held by a descriptor from then
// on. Any thread; calls block.

#include <dirent.h>

#include <string>
#include <utility>

#include "base/result.h"

namespace koord::cluster {

// A file descriptor that is closed with it.
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

// Closes what opendir and fdopendir open.
struct CloseDir {
  void operator()(DIR* dir) const { ::closedir(dir); }
};

// What is there (O_PATH). NotFound when nothing is; Forbidden when the path leads out of the
// folder.
Result<Fd> openBeneath(const std::string& folder, const std::string& relative);
// The same; folders that are missing are made, with the mode of `folder`.
Result<Fd> makeBeneath(const std::string& folder, const std::string& relative);

// Removes a folder with all in it. Never enters what is mounted there: that is an error, and stays.
Result<> removeTree(const std::string& path);

}  // namespace koord::cluster
