#include "base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "base/fd.h"

namespace koord {
Result<std::string> readFile(const std::string& path) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return fail(errnoError("read " + path, errno));
  std::string text;
  char buffer[16384];
  for (;;) {
    const ssize_t got = ::read(file.get(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(errnoError("read " + path, errno));
    if (got == 0) return text;
    text.append(buffer, static_cast<std::size_t>(got));
  }
}

Result<> writeFileAtomic(const std::string& path, std::string_view text, unsigned mode) {
  const std::string temporary = path + ".tmp" + std::to_string(::getpid());
  {
    const Fd file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode));
    if (file.get() < 0) return fail(errnoError("write " + path, errno));
    std::string_view rest = text;
    while (!rest.empty()) {
      const ssize_t put = ::write(file.get(), rest.data(), rest.size());
      if (put < 0 && errno == EINTR) continue;
      if (put < 0) {
        const int error = errno;
        ::unlink(temporary.c_str());
        return fail(errnoError("write " + path, error));
      }
      rest.remove_prefix(static_cast<std::size_t>(put));
    }
    // The umask must not widen or narrow what the caller asked for.
    if (::fchmod(file.get(), mode) != 0 || ::fsync(file.get()) != 0) {
      const int error = errno;
      ::unlink(temporary.c_str());
      return fail(errnoError("write " + path, error));
    }
  }
  if (::rename(temporary.c_str(), path.c_str()) != 0) {
    const int error = errno;
    ::unlink(temporary.c_str());
    return fail(errnoError("write " + path, error));
  }
  return {};
}

Result<> makeDirs(const std::string& path, unsigned mode) {
  if (::mkdir(path.c_str(), mode) == 0) return {};
  if (errno == EEXIST) {
    struct stat info{};
    if (::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) return {};
    return fail(ErrorCode::Io, path + " exists and is not a folder");
  }
  const auto slash = path.rfind('/');
  if (errno != ENOENT || slash == std::string::npos || slash == 0)
    return fail(errnoError("make folder " + path, errno));
  if (auto parent = makeDirs(path.substr(0, slash), mode); !parent) return parent;
  if (::mkdir(path.c_str(), mode) == 0 || errno == EEXIST) return {};
  return fail(errnoError("make folder " + path, errno));
}

}  // namespace koord
