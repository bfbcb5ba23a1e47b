#include "cluster/controllers/volumes/volume_folders.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "base/beneath.h"
#include "base/file.h"

namespace koord::cluster {

namespace {

constexpr mode_t kWorldWritable = 0777;

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
  if (::mkdir(path->c_str(), kWorldWritable) != 0) {
    struct stat info{};
    if (errno == EEXIST && ::lstat(path->c_str(), &info) == 0 && S_ISDIR(info.st_mode)) return path;
    return fail(errnoError("make the folder " + *path, errno == EEXIST ? ENOTDIR : errno));
  }
  // The umask applies to the mode of mkdir.
  if (::chmod(path->c_str(), kWorldWritable) != 0)
    return fail(errnoError("open the folder " + *path + " to everybody", errno));
  return path;
}

Result<bool> VolumeFolders::remove(const std::string& volume, int limit) const {
  const auto path = pathOf(volume);
  if (!path) return fail(path.error());
  return removeFolder(*path, limit);
}

}  // namespace koord::cluster
