#include "net/rpc/unix_socket.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace koord::net {
namespace {

Result<sockaddr_un> socketAddress(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path)
    return fail(ErrorCode::Invalid,
                fmt::format("socket \"{}\": the path must have 1 to {} characters", path,
                            sizeof address.sun_path - 1));
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

}  // namespace

Result<Fd> connectUnix(const std::string& path) {
  const auto address = socketAddress(path);
  if (!address) return fail(address.error());
  Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return fail(errnoError("open a socket", errno));
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) != 0) {
    Error error = errnoError("connect to " + path, errno);
    error.code = ErrorCode::Unavailable;
    return fail(std::move(error));
  }
  return fd;
}

Result<Fd> listenUnix(const std::string& path) {
  const auto address = socketAddress(path);
  if (!address) return fail(address.error());
  Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return fail(errnoError("open a socket", errno));
  if (::unlink(path.c_str()) != 0 && errno != ENOENT)
    return fail(errnoError("remove " + path, errno));
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) != 0 ||
      // Before listen(), so that no client can connect earlier.
      ::chmod(path.c_str(), S_IRUSR | S_IWUSR) != 0 || ::listen(fd.get(), SOMAXCONN) != 0)
    return fail(errnoError("listen on " + path, errno));
  return fd;
}

Result<Fd> acceptUnix(const Fd& listener) {
  for (;;) {
    Fd fd(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (fd) return fd;
    if (errno == EINTR || errno == ECONNABORTED) continue;
    if (errno == EAGAIN) return fail(ErrorCode::Invalid, "no connection is waiting");
    return fail(errnoError("accept a connection", errno));
  }
}

}  // namespace koord::net
