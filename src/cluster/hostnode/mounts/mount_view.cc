#include "cluster/hostnode/mounts/mount_view.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/mount.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <set>

#include "base/beneath.h"
#include "cluster/hostnode/mounts/safe_path.h"

// <sys/mount.h> and <linux/mount.h> conflict in Debian 12; these declarations are all we need of
// the first.
extern "C" int mount(const char*, const char*, const char*, unsigned long, const void*) noexcept;
extern "C" int umount2(const char*, int) noexcept;

namespace koord::cluster {

namespace {

constexpr unsigned long kRecursive = 1UL << 14;  // MS_REC
constexpr unsigned long kMove = 1UL << 13;       // MS_MOVE
constexpr unsigned long kPrivate = 1UL << 18;    // MS_PRIVATE
constexpr unsigned long kSlave = 1UL << 19;      // MS_SLAVE
constexpr unsigned long kShared = 1UL << 20;     // MS_SHARED
constexpr int kDetach = 2;                       // MNT_DETACH
constexpr unsigned kAtRecursive = 0x8000;        // AT_RECURSIVE
constexpr std::size_t kMaxEntries = 10'000;      // of a folder that is covered

int openTree(int folder, const char* path, unsigned flags) {
  return static_cast<int>(::syscall(SYS_open_tree, folder, path,
                                    flags | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | kAtRecursive));
}
int moveMount(int from, int toFolder, const char* to, unsigned flags) {
  return static_cast<int>(
      ::syscall(SYS_move_mount, from, "", toFolder, to, flags | MOVE_MOUNT_F_EMPTY_PATH));
}
int setAttributes(int folder, const char* path, unsigned flags, mount_attr attributes) {
  return static_cast<int>(
      ::syscall(SYS_mount_setattr, folder, path, flags, &attributes, sizeof attributes));
}

std::unexpected<Error> failed(const std::string& what) {
  return fail(errnoError(what, errno));
}

bool isFolder(int fd) {
  struct stat info{};
  return ::fstat(fd, &info) == 0 && S_ISDIR(info.st_mode);
}

std::uint64_t mountIdOf(int fd) {
  struct statx info{};
  if (::statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &info) != 0) return 0;
  return info.stx_mnt_id;
}

std::vector<std::string> partsOf(const std::string& path) {
  std::vector<std::string> parts;
  for (std::size_t start = 0; start < path.size();) {
    const auto slash = std::min(path.find('/', start), path.size());
    if (slash > start) parts.push_back(path.substr(start, slash - start));
    start = slash + 1;
  }
  return parts;
}

Result<std::vector<std::string>> entriesOf(int folder, const std::string& name) {
  const int number = ::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (number < 0) return failed("read folder " + name);
  const std::unique_ptr<DIR, CloseDir> dir(::fdopendir(number));
  std::vector<std::string> entries;
  while (const dirent* entry = ::readdir(dir.get())) {
    const std::string child = entry->d_name;
    if (child != "." && child != "..") entries.push_back(child);
    if (entries.size() > kMaxEntries)
      return fail(ErrorCode::Invalid,
                  fmt::format("{} has more than {} entries: mount below another folder, or create "
                              "the mount point on this host",
                              name, kMaxEntries));
  }
  return entries;
}

class View {
 public:
  explicit View(const ViewOptions& options) : options_(options) {}

  Result<> enter() {
    for (const auto& mount : options_.mounts)
      if (auto opened = openSource(mount); !opened)
        return fail(std::move(opened.error()).within("volume for " + mount.target));
    if (::unshare(CLONE_NEWNS) != 0) return failed("mount namespace");
    if (::mount("", "/", nullptr, kRecursive | kSlave, nullptr) != 0)
      return failed("mount namespace");
    if (options_.readOnlyRoot) {
      mount_attr attributes{};
      attributes.attr_set = MOUNT_ATTR_RDONLY;
      if (setAttributes(AT_FDCWD, "/", kAtRecursive, attributes) != 0)
        return failed("read-only root");
    }
    // Parents before their nested mounts.
    std::ranges::sort(sources_, {},
                      [](const Source& source) { return partsOf(source.spec->target); });
    for (const auto& source : sources_)
      if (auto placed = place(source); !placed)
        return fail(std::move(placed.error()).within("mount " + source.spec->target));
    for (const int folder : covers_)
      if (options_.readOnlyRoot && !sealed(folder)) return failed("read-only root");
    if (::chdir("/") != 0) return failed("chdir /");
    return {};
  }

 private:
  struct Source {
    const MountSpec* spec = nullptr;
    Fd tree;  // a detached clone
    bool folder = false;
  };

  Result<> openSource(const MountSpec& spec) {
    auto found = spec.subPath.empty() ? plain(spec.source) : makeBeneath(spec.source, spec.subPath);
    if (!found) return fail(std::move(found.error()));
    Source source{&spec, Fd(openTree(found->get(), "", AT_EMPTY_PATH)), isFolder(found->get())};
    if (!source.tree) return failed(spec.source);
    mount_attr attributes{};
    attributes.propagation = spec.propagation == Propagation::Bidirectional     ? kShared
                             : spec.propagation == Propagation::HostToContainer ? kSlave
                                                                                : kPrivate;
    if (setAttributes(source.tree.get(), "", AT_EMPTY_PATH | kAtRecursive, attributes) != 0)
      return failed(spec.source);
    if (spec.readOnly) {
      mount_attr lock{};
      lock.attr_set = MOUNT_ATTR_RDONLY;
      const unsigned depth = spec.recursiveReadOnly ? kAtRecursive : 0;
      if (setAttributes(source.tree.get(), "", AT_EMPTY_PATH | depth, lock) != 0)
        return failed(spec.source);
    }
    sources_.push_back(std::move(source));
    return {};
  }

  static Result<Fd> plain(const std::string& path) {
    Fd fd(::open(path.c_str(), O_PATH | O_CLOEXEC));
    if (!fd) return failed(path);
    return fd;
  }

  Result<> place(const Source& source) {
    auto point = mountPoint(source.spec->target, source.folder);
    if (!point) return fail(std::move(point.error()));
    if (moveMount(source.tree.get(), point->get(), "", MOVE_MOUNT_T_EMPTY_PATH) != 0)
      return failed("move_mount");
    ours_.insert(mountIdOf(source.tree.get()));
    return {};
  }

  // The mount point of a path; creates it if it is missing.
  Result<Fd> mountPoint(const std::string& target, bool folder) {
    const auto parts = partsOf(target);
    if (parts.empty()) return fail(ErrorCode::Invalid, "a volume cannot be mounted on /");
    std::size_t found = parts.size();
    Fd nearest = nearestExisting(parts, found);
    if (found == parts.size()) {
      if (isFolder(nearest.get()) == folder) return nearest;
      return fail(ErrorCode::Invalid, folder
                                          ? "is a file on this host, and the volume is a folder"
                                          : "is a folder on this host, and the volume is a file");
    }
    if (!isFolder(nearest.get()))
      return fail(ErrorCode::Invalid, "a part of the path is not a folder on this host");
    if (!ours_.contains(mountIdOf(nearest.get()))) {
      if (auto covered = cover(nearest.get()); !covered) return fail(std::move(covered.error()));
      nearest = nearestExisting(parts, found);
    }
    for (; found < parts.size(); ++found) {
      const char* name = parts[found].c_str();
      const bool last = found + 1 == parts.size();
      if (last && !folder) {
        const Fd file(::openat(nearest.get(), name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
        if (!file) return failed("make mount point");
      } else if (::mkdirat(nearest.get(), name, 0755) != 0) {
        return failed("make mount point");
      }
      nearest = Fd(::openat(nearest.get(), name, O_PATH | O_NOFOLLOW | O_CLOEXEC));
      if (!nearest) return failed("make mount point");
    }
    return nearest;
  }

  // The longest existing part of the path; `count`: its number of components.
  static Fd nearestExisting(const std::vector<std::string>& parts, std::size_t& count) {
    for (count = parts.size(); count > 0; --count) {
      std::string path;
      for (std::size_t i = 0; i < count; ++i) path += "/" + parts[i];
      if (Fd fd(::open(path.c_str(), O_PATH | O_CLOEXEC)); fd) return fd;
    }
    return Fd(::open("/", O_PATH | O_CLOEXEC));
  }

  // Covers a folder with a tmpfs that shows its content.
  Result<> cover(int folder) {
    char name[4096];
    const auto size =
        ::readlink(fmt::format("/proc/self/fd/{}", folder).c_str(), name, sizeof name);
    if (size < 0) return failed("/proc/self/fd");
    const std::string path(name, static_cast<std::size_t>(size));
    auto entries = entriesOf(folder, path);
    if (!entries) return fail(std::move(entries.error()));
    const std::string& staging = options_.staging;
    if (::mount("tmpfs", staging.c_str(), "tmpfs", 0, "mode=0755") != 0)
      return failed("mount tmpfs on " + staging);
    Fd stage(::open(staging.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!stage) return failed(staging);
    for (const auto& entry : *entries)
      if (auto shown = show(folder, stage.get(), entry); !shown)
        return fail(std::move(shown.error()).within(path));
    struct stat info{};
    if (::fstat(folder, &info) != 0 || ::chmod(staging.c_str(), info.st_mode & 07777) != 0 ||
        ::chown(staging.c_str(), info.st_uid, info.st_gid) != 0)
      return failed(path);
    ours_.insert(mountIdOf(stage.get()));
    if (path == "/") {
      if (auto changed = changeRoot(stage.get()); !changed) return changed;
    } else if (moveMount(stage.get(), folder, "", MOVE_MOUNT_T_EMPTY_PATH) != 0) {
      return failed("move_mount " + path);
    }
    // If the folder contains the staging folder, the bind mount shows the tmpfs in it.
    ::umount2(staging.c_str(), kDetach);
    covers_.push_back(::fcntl(stage.get(), F_DUPFD_CLOEXEC, 3));
    return {};
  }

  static Result<> show(int folder, int stage, const std::string& entry) {
    const char* name = entry.c_str();
    struct stat info{};
    if (::fstatat(folder, name, &info, AT_SYMLINK_NOFOLLOW) != 0)
      return errno == ENOENT ? Result<>{} : failed(entry);
    if (S_ISLNK(info.st_mode)) {
      char target[4096];
      const auto size = ::readlinkat(folder, name, target, sizeof target);
      if (size < 0) return failed(entry);
      const std::string text(target, static_cast<std::size_t>(size));
      return ::symlinkat(text.c_str(), stage, name) == 0 ? Result<>{} : failed(entry);
    }
    const Fd tree(openTree(folder, name, AT_SYMLINK_NOFOLLOW));
    if (!tree) return errno == ENOENT ? Result<>{} : failed(entry);
    if (S_ISDIR(info.st_mode)) {
      if (::mkdirat(stage, name, 0755) != 0) return failed(entry);
    } else {
      const Fd file(::openat(stage, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
      if (!file) return failed(entry);
    }
    return moveMount(tree.get(), stage, name, 0) == 0 ? Result<>{} : failed(entry);
  }

  static Result<> changeRoot(int stage) {
    if (::fchdir(stage) != 0) return failed("new root");
    if (::syscall(SYS_pivot_root, ".", ".") == 0) {
      // The old root is now mounted on the new one.
      if (::umount2(".", kDetach) != 0 || ::chdir("/") != 0) return failed("new root");
      return {};
    }
    // The initial root of a host (initramfs) cannot be exchanged, but covered.
    if (::mount(".", "/", nullptr, kMove, nullptr) != 0 || ::chroot(".") != 0 || ::chdir("/") != 0)
      return failed("new root");
    return {};
  }

  static bool sealed(int folder) {
    mount_attr attributes{};
    attributes.attr_set = MOUNT_ATTR_RDONLY;
    return setAttributes(folder, "", AT_EMPTY_PATH, attributes) == 0;
  }

  const ViewOptions& options_;
  std::vector<Source> sources_;
  std::set<std::uint64_t> ours_;  // ids of mounts in which mount points may be made
  std::vector<int> covers_;       // closed on exec
};

}  // namespace

Result<> enterMountView(const ViewOptions& options) {
  return View(options).enter();
}

}  // namespace koord::cluster
