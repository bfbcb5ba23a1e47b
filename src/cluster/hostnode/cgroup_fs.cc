#include "cluster/hostnode/cgroup_fs.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

namespace koord::cluster {

bool RealCgroupFs::isDir(const std::string& path) const {
  struct stat info{};
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

Result<> RealCgroupFs::makeDir(const std::string& path) {
  if (::mkdir(path.c_str(), 0755) == 0 || errno == EEXIST) return {};
  return fail(errnoError("mkdir " + path, errno));
}

Result<> RealCgroupFs::removeDir(const std::string& path) {
  if (::rmdir(path.c_str()) == 0 || errno == ENOENT) return {};
  Error error = errnoError("rmdir " + path, errno);
  if (errno == EBUSY) error.code = ErrorCode::Conflict;
  return fail(std::move(error));
}

std::vector<std::string> RealCgroupFs::subdirs(const std::string& path) const {
  std::vector<std::string> names;
  std::error_code ec;
  for (auto it = std::filesystem::directory_iterator(path, ec);
       !ec && it != std::filesystem::end(it); it.increment(ec))
    if (std::error_code typeError; it->is_directory(typeError))
      names.push_back(it->path().filename());
  return names;
}

Result<std::string> RealCgroupFs::read(const std::string& path) const {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return fail(errnoError("open " + path, errno));
  std::string text;
  char buffer[4096];
  ssize_t got = 0;
  while ((got = ::read(fd, buffer, sizeof buffer)) > 0)
    text.append(buffer, static_cast<std::size_t>(got));
  const int error = errno;
  ::close(fd);
  if (got < 0) return fail(errnoError("read " + path, error));
  return text;
}

Result<> RealCgroupFs::write(const std::string& path, std::string_view text) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return fail(errnoError("open " + path, errno));
  // The kernel accepts the value of a control file in one write only.
  const ssize_t put = ::write(fd, text.data(), text.size());
  const int error = errno;
  ::close(fd);
  if (put < 0) return fail(errnoError("write \"" + std::string(text) + "\" to " + path, error));
  return {};
}

void RealCgroupFs::signal(int pid, int signal) {
  if (pid > 1) ::kill(pid, signal);
}

}  // namespace koord::cluster
