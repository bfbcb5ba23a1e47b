#include "cluster/hostnode/volumes/volume_store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "base/file.h"
#include "cluster/hostnode/mounts/mount_table.h"
#include "cluster/hostnode/mounts/safe_path.h"

namespace koord::cluster {

namespace fs = std::filesystem;

namespace {

constexpr mode_t kGroupMayWrite = 0660;
constexpr mode_t kGroupFolder = S_ISGID | 0110;

const char* kindOf(mode_t mode) {
  if (S_ISDIR(mode)) return "Directory";
  if (S_ISREG(mode)) return "File";
  if (S_ISSOCK(mode)) return "Socket";
  if (S_ISCHR(mode)) return "CharDevice";
  if (S_ISBLK(mode)) return "BlockDevice";
  return "";
}

const char* describe(const std::string& type) {
  if (type == "Directory") return "directory";
  if (type == "File") return "file";
  if (type == "Socket") return "socket file";
  if (type == "CharDevice") return "character device";
  return "block device";
}

// A world-writable folder, as kubelet creates it; the group owns its entries. It appears with its
// mode, and changes by a container stay.
Result<> makeOpenFolder(const std::string& path, std::optional<std::uint32_t> group) {
  struct stat info{};
  if (::stat(path.c_str(), &info) == 0) return {};
  const std::string fresh = path + ".new";
  if (auto made = makeDirs(fresh, 0750); !made) return made;
  if (group && ::chown(fresh.c_str(), static_cast<uid_t>(-1), *group) != 0)
    return fail(errnoError("chown " + path, errno));
  if (::chmod(fresh.c_str(), group ? 0777 | S_ISGID : 0777) != 0 ||
      ::rename(fresh.c_str(), path.c_str()) != 0)
    return fail(errnoError("make folder " + path, errno));
  return {};
}

Result<> setGroup(const std::string& path, std::uint32_t group) {
  struct stat info{};
  if (::lstat(path.c_str(), &info) != 0) return fail(errnoError(path, errno));
  if (::lchown(path.c_str(), static_cast<uid_t>(-1), group) != 0)
    return fail(errnoError("chown " + path, errno));
  if (S_ISLNK(info.st_mode)) return {};
  const mode_t more = kGroupMayWrite | (S_ISDIR(info.st_mode) ? kGroupFolder : 0);
  if (::chmod(path.c_str(), (info.st_mode & 07777) | more) != 0)
    return fail(errnoError("chmod " + path, errno));
  return {};
}

// For a local volume: changes the group of its whole tree, unless the root has it already.
Result<> setGroupRecursively(const std::string& path, std::uint32_t group) {
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0) return fail(errnoError(path, errno));
  if (info.st_gid == group && (info.st_mode & S_ISGID)) return {};
  std::error_code ec;
  for (auto it = fs::recursive_directory_iterator(path, ec); !ec && it != fs::end(it);
       it.increment(ec))
    if (auto given = setGroup(it->path(), group); !given) return given;
  if (ec) return fail(errnoError("read " + path, ec.value()));
  return setGroup(path, group);
}

}  // namespace

Result<> checkHostPath(const std::string& path, const std::string& type) {
  for (const auto& part : fs::path(path))
    if (part == "..")
      return fail(ErrorCode::Invalid,
                  fmt::format("invalid HostPath `{}`: path must not contain '..'", path));
  struct stat info{};
  const bool exists = ::stat(path.c_str(), &info) == 0;
  const bool create = type.empty() || type == "DirectoryOrCreate" || type == "FileOrCreate";
  if (!exists && create && type == "FileOrCreate") {
    const Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
    return file ? Result<>{} : fail(errnoError("hostPath " + path, errno));
  }
  if (!exists && create) return makeDirs(path, 0755);
  if (type.empty()) return {};
  std::string wanted = type;
  if (create) wanted.resize(type.find("OrCreate"));
  static constexpr std::string_view kTypes[] = {"Directory", "File", "Socket", "CharDevice",
                                                "BlockDevice"};
  if (std::find(std::begin(kTypes), std::end(kTypes), wanted) == std::end(kTypes))
    return fail(ErrorCode::Invalid, fmt::format("{} is an invalid volume type", type));
  if (!exists) return fail(ErrorCode::NotFound, fmt::format("hostPath {} doesn't exist", path));
  if (kindOf(info.st_mode) == wanted) return {};
  return fail(ErrorCode::Invalid,
              fmt::format("hostPath type check failed: {} is not a {}, it's a {}", path,
                          describe(wanted), kindOf(info.st_mode)));
}

Result<std::string> setUpVolume(const std::string& podDir, const VolumeSetUp& volume,
                                std::optional<std::uint32_t> group, WallTime now) {
  using Kind = VolumeSetUp::Kind;
  if (volume.kind == Kind::HostPath) {
    if (auto good = checkHostPath(volume.path, volume.pathType); !good)
      return fail(std::move(good.error()));
    return volume.path;
  }
  if (volume.kind == Kind::Local) {
    struct stat info{};
    if (::stat(volume.path.c_str(), &info) != 0)
      return fail(ErrorCode::NotFound, fmt::format("path \"{}\" does not exist", volume.path));
    if (!S_ISDIR(info.st_mode))
      return fail(
          ErrorCode::Invalid,
          fmt::format("path \"{}\" is not a folder: block volumes are not supported by this node",
                      volume.path));
    if (group)
      if (auto given = setGroupRecursively(volume.path, *group); !given)
        return fail(std::move(given.error()));
    return volume.path;
  }
  if (auto made = makeDirs(podDir, 0750); !made) return fail(std::move(made.error()));
  const std::string path =
      fmt::format("{}/volumes/kubernetes.io~{}/{}", podDir, volume.type, volume.name);
  if (volume.kind == Kind::Files) {
    if (auto made = makeDirs(path, 0755); !made) return fail(std::move(made.error()));
    auto written = writePayload(path, volume.files, group, now);
    if (!written) return fail(std::move(written.error()));
    return path;
  }
  if (auto made = makeOpenFolder(path, group); !made) return fail(std::move(made.error()));
  // Without root a tmpfs is not possible, and a plain folder is used.
  if (volume.kind == Kind::Memory && ::geteuid() == 0)
    if (auto mounted = mountTmpfs(path, volume.sizeBytes, group); !mounted)
      return fail(std::move(mounted.error()));
  return path;
}

Result<std::string> prepareSubPath(const MountSpec& mount, const std::string& target) {
  auto found = makeBeneath(mount.source, mount.subPath);
  if (!found) return fail(std::move(found.error()));
  if (target.empty()) return mount.source;
  if (auto bound = bindAt(*found, target); !bound) return fail(std::move(bound.error()));
  return target;
}

Result<> tearDownPod(const std::string& podDir) {
  if (auto unmounted = unmountBelow(podDir); !unmounted) return unmounted;
  return removeTree(podDir);
}

std::vector<std::string> podsIn(const std::string& dir) {
  std::vector<std::string> uids;
  std::error_code ec;
  for (auto it = fs::directory_iterator(dir, ec); !ec && it != fs::end(it); it.increment(ec))
    uids.push_back(it->path().filename());
  return uids;
}

}  // namespace koord::cluster
