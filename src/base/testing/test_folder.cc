#include "base/testing/test_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <string_view>

namespace koord {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "koord-test-";

// Mount points below the folder may show files of the host.
bool hasMounts(const std::string& folder) {
  std::ifstream mounts("/proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);)
    if (line.find(" " + folder + "/") != line.npos) return true;
  return false;
}

void removeFolder(const std::string& folder) {
  std::error_code ignored;
  if (!hasMounts(folder)) fs::remove_all(folder, ignored);
}

// Returns the descriptor that holds the folder's lock, or -1. Programs that the test starts do not
// inherit it.
int lock(const std::string& folder) {
  const int held = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (held < 0) return -1;
  struct stat locked{}, named{};
  const bool mine = ::flock(held, LOCK_EX | LOCK_NB) == 0 && ::fstat(held, &locked) == 0 &&
                    ::lstat(folder.c_str(), &named) == 0 && locked.st_ino == named.st_ino;
  if (mine) return held;
  ::close(held);
  return -1;
}

void removeAbandoned(const fs::path& parent) {
  std::error_code error;
  for (auto it = fs::directory_iterator(parent, error); !error && it != fs::directory_iterator();
       it.increment(error)) {
    if (!it->path().filename().string().starts_with(kPrefix)) continue;
    const int held = lock(it->path());
    if (held < 0) continue;
    removeFolder(it->path());
    ::close(held);
  }
}

class TestFolder {
 public:
  explicit TestFolder(const fs::path& parent) {
    constexpr int kTries = 10;  // another program may remove the folder before it is locked
    for (int i = 0; i < kTries && lock_ < 0; ++i) {
      path_ = (parent / kPrefix).string() + "XXXXXX";
      if (!::mkdtemp(path_.data())) break;
      ::chmod(path_.c_str(), 0711);  // for tests that become another user
      lock_ = lock(path_);
    }
    if (lock_ < 0) path_.clear();
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;
  // A forked child that ends by exit() has a copy of this object.
  ~TestFolder() {
    if (!path_.empty() && ::getpid() == owner_) removeFolder(path_);
  }

  const std::string& path() const { return path_; }

 private:
  const pid_t owner_ = ::getpid();
  std::string path_;
  int lock_ = -1;
};

struct TestFolders {
  TestFolders() {
    std::error_code error;
    const fs::path temporary = fs::temp_directory_path(error);
    if (!error) {
      removeAbandoned(temporary);
      static const TestFolder folder(temporary);
      if (!folder.path().empty()) ::setenv("TMPDIR", folder.path().c_str(), 1);
      if (!folder.path().empty()) ::setenv("TEST_TMPDIR", folder.path().c_str(), 1);
    }
    ::unsetenv(kTestMemoryVariable);
    const fs::path memory = "/dev/shm";
    if (::access(memory.c_str(), W_OK) != 0) return;
    removeAbandoned(memory);
    static const TestFolder folder(memory);
    if (!folder.path().empty()) ::setenv(kTestMemoryVariable, folder.path().c_str(), 1);
  }
};

const TestFolders folders;

}  // namespace
}  // namespace koord
