#include "koordlet/testing/temp_tree.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/split.h"
#include "base/testing/test_folder.h"
#include "koordlet/system/small_file.h"

namespace koord::koordlet {

namespace fs = std::filesystem;

TempTree::TempTree(std::initializer_list<std::pair<std::string_view, std::string_view>> files) {
  std::string name = testMemoryFolder() + "/koordlet-XXXXXX";
  if (!::mkdtemp(name.data())) std::abort();
  root_ = name + "/";
  for (const auto& [path, content] : files) write(path, content);
}

TempTree::~TempTree() {
  std::error_code ignored;
  fs::remove_all(root_, ignored);
}

std::string TempTree::path(std::string_view relative) const {
  return root_ + std::string(relative);
}

void TempTree::makeDir(std::string_view relative) {
  fs::create_directories(path(relative));
}

void TempTree::write(std::string_view relative, std::string_view content) {
  const fs::path file = path(relative);
  fs::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary | std::ios::trunc) << content;
}

void TempTree::remove(std::string_view relative) {
  fs::remove_all(path(relative));
}

std::string TempTree::read(std::string_view relative) const {
  auto text = readSmallFile(path(relative));
  return text ? std::string(trim(*text)) : std::string();
}

int TempTree::openFiles() const {
  int count = 0;
  std::error_code gone;  // that of the directory itself
  for (const auto& entry : fs::directory_iterator("/proc/self/fd"))
    count += fs::read_symlink(entry.path(), gone).string().starts_with(root_) ? 1 : 0;
  return count;
}

HostDirs TempTree::dirs() const {
  return {path("cgroup/"),  path("sys/"), path("sys/fs/"), path("proc/"),
          path("var-run/"), path("run/"), path("kubelet/")};
}

}  // namespace koord::koordlet
