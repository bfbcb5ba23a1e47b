#include "cluster/hostnode/attach_socket.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>

#include "base/file.h"

namespace koord::cluster {

namespace {

constexpr const char* kName = "attach.sock";
constexpr int kAttachBacklog = 16;

struct Place {
  Fd dir;
  sockaddr_un address{};
};

// The folder by its descriptor, since an address has 107 bytes at most.
Result<Place> placeIn(const std::string& dir) {
  Place place;
  place.dir.reset(::open(dir.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!place.dir) return fail(errnoError(dir, errno));
  const std::string path = "/proc/self/fd/" + std::to_string(place.dir.get()) + "/" + kName;
  place.address.sun_family = AF_UNIX;
  std::strncpy(place.address.sun_path, path.c_str(), sizeof place.address.sun_path - 1);
  return place;
}

}  // namespace

Result<Fd> listenForAttach(const std::string& dir) {
  auto place = placeIn(dir);
  if (!place) return fail(std::move(place.error()));
  ::unlinkat(place->dir.get(), kName, 0);
  Fd fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const mode_t mask = ::umask(0177);  // the shim has one thread
  const bool bound = fd && ::bind(fd.get(), reinterpret_cast<sockaddr*>(&place->address),
                                  sizeof place->address) == 0;
  const int error = errno;
  ::umask(mask);
  if (!bound) return fail(errnoError("listen on " + dir + "/" + kName, error));
  if (::listen(fd.get(), kAttachBacklog) != 0)
    return fail(errnoError("listen on " + dir + "/" + kName, errno));
  return fd;
}

Result<Fd> connectForAttach(const std::string& dir) {
  auto place = placeIn(dir);
  if (!place) return fail(std::move(place.error()));
  Fd fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd ||
      ::connect(fd.get(), reinterpret_cast<sockaddr*>(&place->address), sizeof place->address) != 0)
    return fail(errnoError("attach to the container through " + dir + "/" + kName, errno));
  return fd;
}

}  // namespace koord::cluster
