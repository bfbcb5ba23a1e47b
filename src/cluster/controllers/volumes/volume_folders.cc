#include "cluster/controllers/volumes/volume_folders.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "base/beneath.h"
#include "base/file.h"

namespace koord::cluster {

namespace {

constexpr mode_t kForEverybody = 0777;
constexpr int kDeepest = 500;  // nested folders; each costs a descriptor

struct CloseDir {
  void operator()(DIR* dir) const { ::closedir(dir); }
};

bool isDots(const char* name) {
  return std::strcmp(name, ".") == 0 || std::strcmp(name, "..") == 0;
}

// Empties the folder of an open descriptor, which it closes. All names are relative to descriptors,
// so that a folder that is swapped for a link meanwhile leads nowhere. Mounts in it are not part of
// the volume and are not entered.
Result<bool> empty(int fd, int& left, int depth) {
  std::unique_ptr<DIR, CloseDir> dir(::fdopendir(fd));
  if (!dir) {
    const int error = errno;
    ::close(fd);
    return fail(errnoError("read a folder", error));
  }
  if (depth > kDeepest) return fail(ErrorCode::Invalid, "folders are nested too deeply");
  while (const dirent* entry = ::readdir(dir.get())) {
    if (isDots(entry->d_name)) continue;
    if (left-- <= 0) return false;
    if (::unlinkat(fd, entry->d_name, 0) == 0 || errno == ENOENT) continue;
    if (errno != EISDIR && errno != EPERM)
      return fail(errnoError(fmt::format("remove {}", entry->d_name), errno));
    Fd inner = openFolderIn(fd, entry->d_name);
    if (!inner && errno == EXDEV)
      return fail(ErrorCode::Conflict,
                  fmt::format("{}: something is mounted there", entry->d_name));
    if (!inner) return fail(errnoError(fmt::format("open {}", entry->d_name), errno));
    auto emptied = empty(inner.release(), left, depth + 1);
    if (!emptied || !*emptied) return emptied;
    if (::unlinkat(fd, entry->d_name, AT_REMOVEDIR) != 0 && errno != ENOENT)
      return fail(errnoError(fmt::format("remove {}", entry->d_name), errno));
  }
  return true;
}

}  // namespace

Result<std::string> VolumeFolders::pathOf(const std::string& volume) const {
  const bool plain =
      !volume.empty() && volume.front() != '.' && std::ranges::all_of(volume, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
      });
  if (!plain)
    return fail(ErrorCode::Invalid, fmt::format("volume name \"{}\" cannot be a folder", volume));
  return root_ + "/" + volume;
}

Result<std::string> VolumeFolders::make(const std::string& volume) const {
  auto path = pathOf(volume);
  if (!path) return path;
  if (auto made = makeDirs(root_); !made) return fail(std::move(made.error()));
  if (::mkdir(path->c_str(), kForEverybody) != 0) {
    struct stat info{};
    if (errno == EEXIST && ::lstat(path->c_str(), &info) == 0 && S_ISDIR(info.st_mode)) return path;
    return fail(errnoError("make the folder " + *path, errno == EEXIST ? ENOTDIR : errno));
  }
  // The umask applies to the mode of mkdir.
  if (::chmod(path->c_str(), kForEverybody) != 0)
    return fail(errnoError("open the folder " + *path + " to everybody", errno));
  return path;
}

Result<bool> VolumeFolders::remove(const std::string& volume, int limit) const {
  const auto path = pathOf(volume);
  if (!path) return fail(path.error());
  const int fd = ::open(path->c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) {
    if (errno == ENOENT) return true;
    return fail(errnoError("open " + *path, errno));
  }
  auto emptied = empty(fd, limit, 0);
  if (!emptied) return fail(std::move(emptied.error()).within(*path));
  if (!*emptied) return false;
  if (::rmdir(path->c_str()) != 0 && errno != ENOENT)
    return fail(errnoError("remove " + *path, errno));
  return true;
}

}  // namespace koord::cluster
