#include "base/beneath.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file.h"

namespace koord {
namespace {

constexpr int kMaxLinks = 40;  // as the kernel follows
constexpr int kDeepest = 500;  // nested folders of removeFolder

Fd openByKernel(int folder, const char* path, std::uint64_t flags, std::uint64_t resolve) {
  open_how how{};
  how.flags = flags | O_CLOEXEC;
  how.resolve = resolve;
  return Fd(static_cast<int>(::syscall(SYS_openat2, folder, path, &how, sizeof how)));
}

// Seccomp says one or the other.
bool isMissing(int error) {
  return error == ENOSYS || error == EPERM;
}

Fd failWith(int error) {
  errno = error;
  return Fd();
}

// The mount that the file is on; "" if the kernel does not show it. Binds of one file system differ
// in nothing else.
std::string mountOf(int fd) {
  const auto info = readFile("/proc/self/fdinfo/" + std::to_string(fd));
  constexpr std::string_view kKey = "mnt_id:";
  const auto at = info ? info->find(kKey) : std::string::npos;
  if (at == std::string::npos) return {};
  return info->substr(at, info->find('\n', at) - at);
}

// A path that ends with a slash names a folder, as with "." after the slash.
void prependParts(std::string_view path, std::deque<std::string>& parts) {
  std::vector<std::string> found;
  const bool namesFolder = path.ends_with('/');
  while (!path.empty()) {
    const auto slash = std::min(path.find('/'), path.size());
    if (slash > 0) found.emplace_back(path.substr(0, slash));
    path.remove_prefix(std::min(slash + 1, path.size()));
  }
  if (namesFolder) found.emplace_back(".");
  parts.insert(parts.begin(), found.begin(), found.end());
}

// A way down from a folder. Each folder on it stays open, so that ".." is the folder that the walk
// came from, even if that was moved.
class Walk {
 public:
  explicit Walk(int folder) : folder_(folder) {}

  Fd openAll(std::string_view path) {
    if (path.starts_with('/')) return failWith(EXDEV);
    prependParts(path, parts_);
    while (!parts_.empty()) {
      const std::string part = std::move(parts_.front());
      parts_.pop_front();
      if (!step(part)) return Fd();
    }
    if (way_.empty()) return Fd(::openat(folder_, ".", O_PATH | O_CLOEXEC));
    return std::move(way_.back());
  }

 private:
  static bool refuse(int error) { return bool(failWith(error)); }
  bool step(const std::string& part) {
    if (part == "." || part == "..") {
      struct stat here{};
      if (!way_.empty() && (::fstat(way_.back().get(), &here) != 0 || !S_ISDIR(here.st_mode)))
        return refuse(ENOTDIR);
      if (part == ".") return true;
      if (way_.empty()) return refuse(EXDEV);
      way_.pop_back();
      return true;
    }
    const int from = way_.empty() ? folder_ : way_.back().get();
    Fd next(::openat(from, part.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    struct stat info{};
    if (!next || ::fstat(next.get(), &info) != 0) return false;
    if (S_ISLNK(info.st_mode)) return followLink(next.get());
    way_.push_back(std::move(next));
    return true;
  }

  bool followLink(int link) {
    if (++links_ > kMaxLinks) return refuse(ELOOP);
    std::array<char, PATH_MAX> target{};
    const ssize_t size = ::readlinkat(link, "", target.data(), target.size());
    if (size < 0) return false;
    if (size == 0) return refuse(ENOENT);
    const std::string_view text(target.data(), static_cast<std::size_t>(size));
    if (text.starts_with('/')) return refuse(EXDEV);
    prependParts(text, parts_);
    return true;
  }

  int folder_;
  std::vector<Fd> way_;
  std::deque<std::string> parts_;  // still to go
  int links_ = 0;
};

Fd openFolderStepwise(int folder, const char* name) {
  if (std::strchr(name, '/') || std::strcmp(name, "..") == 0) return failWith(EXDEV);
  Fd inner(::openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!inner) return inner;
  const std::string own = mountOf(folder);
  if (own.empty()) return failWith(ENOSYS);
  if (mountOf(inner.get()) != own) return failWith(EXDEV);
  return inner;
}

// All names are relative to descriptors, so that a folder that is swapped for a link meanwhile
// leads nowhere.
Result<bool> emptyAt(Fd folder, const std::string& name, int& left, int depth) {
  const std::unique_ptr<DIR, CloseDir> dir(::fdopendir(folder.get()));
  if (!dir) return fail(errnoError("read folder " + name, errno));
  const int fd = folder.release();  // closedir closes it
  if (depth > kDeepest)
    return fail(ErrorCode::Invalid, fmt::format("{}: more than {} nested folders", name, kDeepest));
  while (const dirent* entry = ::readdir(dir.get())) {
    const std::string child = entry->d_name;
    if (child == "." || child == "..") continue;
    if (left-- <= 0) return false;
    const std::string path = name + "/" + child;
    if (::unlinkat(fd, child.c_str(), 0) == 0 || errno == ENOENT) continue;
    if (errno != EISDIR && errno != EPERM) return fail(errnoError("remove " + path, errno));
    Fd inner = openFolderIn(fd, child.c_str());
    if (!inner && errno == EXDEV) return fail(ErrorCode::Conflict, path + ": is a mount point");
    if (!inner) return fail(errnoError("open " + path, errno));
    auto emptied = emptyAt(std::move(inner), path, left, depth + 1);
    if (!emptied || !*emptied) return emptied;
    if (::unlinkat(fd, child.c_str(), AT_REMOVEDIR) != 0 && errno != ENOENT)
      return fail(errnoError("remove " + path, errno));
  }
  return true;
}

}  // namespace

Result<bool> removeFolder(const std::string& path, int limit) {
  Fd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder && errno == ENOENT) return true;
  if (!folder) return fail(errnoError("open " + path, errno));
  auto emptied = emptyAt(std::move(folder), path, limit, 0);
  if (!emptied || !*emptied) return emptied;
  if (::rmdir(path.c_str()) != 0 && errno != ENOENT)
    return fail(errnoError("remove " + path, errno));
  return true;
}

Fd openFolderIn(int folder, const char* name) {
  Fd fd = openByKernel(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW,
                       RESOLVE_BENEATH | RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS);
  return !fd && isMissing(errno) ? openFolderStepwise(folder, name) : std::move(fd);
}

Fd openBeneath(int folder, const char* path) {
  const char* there = *path == '\0' ? "." : path;
  Fd fd = openByKernel(folder, there, O_PATH, RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS);
  return !fd && isMissing(errno) ? Walk(folder).openAll(there) : std::move(fd);
}

}  // namespace koord
