#include "cluster/hostnode/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace koord::cluster {

Result<std::string> readFile(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return fail(errnoError("open " + path, errno));
  std::string text;
  char buffer[16384];
  ssize_t got = 0;
  while ((got = ::read(fd, buffer, sizeof buffer)) > 0) text.append(buffer, static_cast<std::size_t>(got));
  const int error = errno;
  ::close(fd);
  if (got < 0) return fail(errnoError("read " + path, error));
  return text;
}

Result<> writeFileAtomic(const std::string& path, std::string_view text, unsigned mode) {
  const std::string fresh = path + ".new";
  const int fd = ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
  if (fd < 0) return fail(errnoError("create " + fresh, errno));
  while (!text.empty()) {
    const ssize_t put = ::write(fd, text.data(), text.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) {
      const int error = errno;
      ::close(fd);
      return fail(errnoError("write " + fresh, error));
    }
    text.remove_prefix(static_cast<std::size_t>(put));
  }
  ::close(fd);
  if (::rename(fresh.c_str(), path.c_str()) != 0) return fail(errnoError("rename " + fresh, errno));
  return {};
}

Result<> makeDirs(const std::string& path, unsigned mode) {
  if (::mkdir(path.c_str(), mode) == 0) return {};
  if (errno == EEXIST) {
    struct stat info{};
    if (::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) return {};
    return fail(ErrorCode::Io, path + " exists and is not a folder");
  }
  if (errno != ENOENT) return fail(errnoError("mkdir " + path, errno));
  const auto slash = path.rfind('/');
  if (slash == std::string::npos || slash == 0) return fail(errnoError("mkdir " + path, ENOENT));
  if (auto parent = makeDirs(path.substr(0, slash), mode); !parent) return parent;
  if (::mkdir(path.c_str(), mode) == 0 || errno == EEXIST) return {};
  return fail(errnoError("mkdir " + path, errno));
}

}  // namespace koord::cluster
