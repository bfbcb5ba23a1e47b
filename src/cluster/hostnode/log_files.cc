#include "cluster/hostnode/log_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "cluster/hostnode/mounts/safe_path.h"

namespace koord::cluster {

namespace {

std::string readPart(const std::string& path, std::int64_t offset, std::size_t bytes) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return {};
  std::string text(bytes, '\0');
  const ssize_t got = ::pread(fd.get(), text.data(), text.size(), offset);
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return text;
}

}  // namespace

std::string rotatedLog(const std::string& path, int age) {
  return age == 0 ? path : path + "." + std::to_string(age);
}

Result<> rotateLog(const std::string& path, const LogLimits& limits) {
  for (int age = limits.files - 1; age > 0; --age) {
    const auto from = rotatedLog(path, age - 1);
    if (std::rename(from.c_str(), rotatedLog(path, age).c_str()) != 0 &&
        (age == 1 || errno != ENOENT))
      return fail(errnoError("rotate " + from, errno));
  }
  return {};
}

void removeLog(const std::string& path, const LogLimits& limits) {
  for (int age = 0; age < limits.files; ++age) ::unlink(rotatedLog(path, age).c_str());
}

std::int64_t fileSize(const std::string& path) {
  struct stat entry{};
  return ::stat(path.c_str(), &entry) == 0 ? static_cast<std::int64_t>(entry.st_size) : -1;
}

std::string readHead(const std::string& path, std::size_t bytes) {
  return readPart(path, 0, bytes);
}

std::string readTail(const std::string& path, std::size_t bytes) {
  const auto size = fileSize(path);
  return readPart(path, std::max<std::int64_t>(size - static_cast<std::int64_t>(bytes), 0), bytes);
}

}  // namespace koord::cluster
