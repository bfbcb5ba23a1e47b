#include "cluster/hostnode/mounts/mount_table.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "base/file.h"
#include "base/mountinfo.h"

namespace koord::cluster {

namespace {

Result<std::vector<std::string>> mountedBelow(const std::string& path) {
  const auto text = readFile("/proc/self/mountinfo");
  if (!text) return fail(text.error());
  return mountsBelow(*text, path);
}

Result<bool> isMounted(const std::string& path) {
  auto mounts = mountedBelow(path);
  if (!mounts) return fail(std::move(mounts.error()));
  return std::ranges::find(*mounts, path) != mounts->end();
}

}  // namespace

std::vector<std::string> mountsBelow(std::string_view mountinfo, const std::string& path) {
  std::vector<std::string> found;
  for (auto& mount : parseMountInfo(mountinfo))
    if (mount.point == path || mount.point.starts_with(path + "/"))
      found.push_back(std::move(mount.point));
  // Later mounts may cover earlier ones.
  std::ranges::reverse(found);
  return found;
}

Result<> unmountBelow(const std::string& path) {
  auto mounts = mountedBelow(path);
  if (!mounts) return fail(std::move(mounts.error()));
  for (const auto& point : *mounts)
    if (::umount2(point.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW) != 0 && errno != EINVAL &&
        errno != ENOENT)
      return fail(errnoError("unmount " + point, errno));
  return {};
}

Result<> mountTmpfs(const std::string& path, std::int64_t sizeBytes,
                    std::optional<std::uint32_t> group) {
  auto mounted = isMounted(path);
  if (!mounted) return fail(std::move(mounted.error()));
  if (*mounted) return {};
  std::string options = group ? fmt::format("mode=02777,gid={}", *group) : "mode=0777";
  if (sizeBytes > 0) options += fmt::format(",size={}", sizeBytes);
  if (::mount("tmpfs", path.c_str(), "tmpfs", MS_NOSUID | MS_NODEV, options.c_str()) != 0)
    return fail(errnoError("mount tmpfs on " + path, errno));
  return {};
}

Result<> bindAt(const Fd& source, const std::string& target) {
  struct stat info{};
  if (::fstat(source.get(), &info) != 0) return fail(errnoError("bind on " + target, errno));
  auto mounted = isMounted(target);
  if (!mounted) return fail(std::move(mounted.error()));
  if (*mounted) {
    struct stat shown{};
    if (::stat(target.c_str(), &shown) == 0 && shown.st_dev == info.st_dev &&
        shown.st_ino == info.st_ino)
      return {};
    if (auto unmounted = unmountBelow(target); !unmounted) return unmounted;
  }
  const bool folder = S_ISDIR(info.st_mode);
  if (auto made = makeDirs(folder ? target : target.substr(0, target.rfind('/')), 0750); !made)
    return made;
  if (!folder) {
    const Fd file(::open(target.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0640));
    if (!file) return fail(errnoError(target, errno));
  }
  const std::string from = fmt::format("/proc/self/fd/{}", source.get());
  if (::mount(from.c_str(), target.c_str(), nullptr, MS_BIND | MS_REC, nullptr) != 0)
    return fail(errnoError("bind on " + target, errno));
  return {};
}

}  // namespace koord::cluster
