#pragma once

// Non-blocking unix stream sockets, as descriptors that close themselves.

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

// Errors name the path. Unavailable if the path has no listener or its backlog is full.
Result<Fd> connectUnix(const std::string& path);
// Replaces an existing socket file. Only its owner and root may connect.
Result<Fd> listenUnix(const std::string& path);
// Invalid if no connection is waiting.
Result<Fd> acceptUnix(const Fd& listener);

}  // namespace koord::net
