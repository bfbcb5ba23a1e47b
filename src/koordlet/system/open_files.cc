#include "koordlet/system/open_files.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "koordlet/system/small_file.h"

namespace koord::koordlet {
namespace {

constexpr std::size_t kLargest = 64 * 1024;

bool isCgroupFile(int fd) {
  struct statfs info{};
  return ::fstatfs(fd, &info) == 0 &&
         (info.f_type == CGROUP_SUPER_MAGIC || info.f_type == CGROUP2_SUPER_MAGIC);
}

}  // namespace

std::size_t OpenFiles::defaultCapacity() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  return std::min<std::size_t>(limit.rlim_cur / 2, 16 * 1024);
}

OpenFiles::OpenFiles(std::size_t capacity) : capacity_(capacity) {}

OpenFiles::~OpenFiles() {
  for (const auto& [path, file] : files_) ::close(file.fd);
}

bool OpenFiles::readFrom(const File& file, std::string& content) {
  struct stat info{};
  if (!file.reportsRemoval && (::fstat(file.fd, &info) != 0 || info.st_nlink == 0)) return false;
  for (std::size_t size = std::max<std::size_t>(content.capacity(), 4096); size <= kLargest;
       size *= 2) {
    ssize_t n = 0;
    // Not resize(): that would clear the whole capacity for a file of a few bytes.
    content.resize_and_overwrite(size, [&](char* data, std::size_t) {
      n = ::pread(file.fd, data, size, 0);
      return static_cast<std::size_t>(std::max<ssize_t>(n, 0));
    });
    if (n < 0) return false;
    if (static_cast<std::size_t>(n) == size) continue;  // perhaps there is more
    while (content.ends_with('\n')) content.pop_back();
    return true;
  }
  return false;
}

Result<> OpenFiles::read(const std::string& path, std::string& content) {
  auto it = files_.find(path);
  if (it != files_.end()) {
    if (readFrom(it->second, content)) {
      it->second.used = true;
      return {};
    }
    ::close(it->second.fd);
    files_.erase(it);
  }
  if (files_.size() < capacity_) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
      const File file{fd, isCgroupFile(fd), true};
      if (readFrom(file, content)) {
        files_.emplace(path, file);
        return {};
      }
      ::close(fd);
    }
  }
  return readSmallFile(path, content);
}

void OpenFiles::closeUnused() {
  for (auto it = files_.begin(); it != files_.end();) {
    if (std::exchange(it->second.used, false)) {
      ++it;
    } else {
      ::close(it->second.fd);
      it = files_.erase(it);
    }
  }
}

}  // namespace koord::koordlet
