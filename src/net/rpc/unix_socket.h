#pragma once

// Unix stream sockets that do not block, as descriptors that close themselves.

#include <string>
#include <utility>

#include "base/result.h"

namespace koord::net {

class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Fd();

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

// Errors name the path; Unavailable: nobody listens there, or not enough.
Result<Fd> connectUnix(const std::string& path);
// Replaces a socket file that is there. Only the owner may connect, and root.
Result<Fd> listenUnix(const std::string& path);
// Invalid when there is no connection to take any more.
Result<Fd> acceptUnix(const Fd& listener);

}  // namespace koord::net
