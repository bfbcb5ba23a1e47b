#include "cluster/up/data_dir.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>
#include <utility>

#include "base/file.h"

namespace koord::cluster {

namespace {

// False if the path leads to another file: 'koordctl delete' removes the lock while it holds it.
bool isFile(const Fd& fd, const std::string& path) {
  struct stat held{};
  struct stat there{};
  return ::fstat(fd.get(), &held) == 0 && ::stat(path.c_str(), &there) == 0 &&
         held.st_ino == there.st_ino && held.st_dev == there.st_dev;
}

// False if another process holds the lock. 'koordctl ls' shares it for an instant to see whether a
// cluster runs, which is not a reason to fail.
bool lockAlone(const Fd& lock) {
  constexpr int kTries = 100;
  constexpr std::chrono::milliseconds kPause{2};
  for (int i = 0; i < kTries; ++i) {
    if (::flock(lock.get(), LOCK_EX | LOCK_NB) == 0) return true;
    if (::flock(lock.get(), LOCK_SH | LOCK_NB) != 0) return false;
    ::flock(lock.get(), LOCK_UN);
    std::this_thread::sleep_for(kPause);
  }
  return false;
}

}  // namespace

std::string fullDataDir(const std::string& path) {
  std::string full = std::filesystem::absolute(path).lexically_normal();
  while (full.size() > 1 && full.ends_with('/')) full.pop_back();
  return full;
}

Result<DataDir> DataDir::open(const std::string& path) {
  std::string full = fullDataDir(path);
  for (const char* folder : {"", "/logs", "/pki", "/containers"})
    if (auto made = makeDirs(full + folder); !made)
      return fail(std::move(made.error()).within("--data-dir"));
  const std::string lockFile = full + "/lock";
  Fd lock(::open(lockFile.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock) return fail(errnoError("--data-dir: open " + lockFile, errno));
  if (!lockAlone(lock)) {
    char owner[32] = {};
    [[maybe_unused]] const auto got = ::pread(lock.get(), owner, sizeof owner - 1, 0);
    return fail(
        ErrorCode::Conflict,
        fmt::format("--data-dir: {} is in use by another koordctl (process {}): stop it, or give "
                    "another folder",
                    full, owner));
  }
  if (!isFile(lock, lockFile))
    return fail(ErrorCode::Conflict,
                fmt::format("--data-dir: another koordctl has just deleted {}: try again", full));
  const std::string pid = std::to_string(::getpid());
  if (::ftruncate(lock.get(), 0) != 0 || ::pwrite(lock.get(), pid.data(), pid.size(), 0) < 0)
    return fail(errnoError("--data-dir: write " + lockFile, errno));
  return DataDir(std::move(full), std::move(lock), false);
}

Result<DataDir> DataDir::temporary() {
  std::string path = (std::filesystem::temp_directory_path() / "koordctl-XXXXXX").string();
  if (!::mkdtemp(path.data())) return fail(errnoError("make a temporary folder " + path, errno));
  auto dir = open(path);
  if (dir) dir->temporary_ = true;
  return dir;
}

DataDir::DataDir(DataDir&& other) noexcept
    : path_(std::move(other.path_)),
      lock_(std::move(other.lock_)),
      temporary_(std::exchange(other.temporary_, false)) {}

DataDir::~DataDir() {
  if (temporary_) {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
}

std::string defaultDataDir() {
  if (::geteuid() == 0) return "/var/lib/koordctl";
  const char* home = std::getenv("HOME");
  return std::string(home && *home ? home : ".") + "/.local/share/koordctl";
}

}  // namespace koord::cluster
