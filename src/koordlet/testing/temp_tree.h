#pragma once

// A directory tree for one test, written in one expression and removed at the end:
//
//   TempTree tree{{"cgroup/cpu/kubepods/cpu.shares", "1024\n"}, {"proc/meminfo", kMemInfo}};

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "koordlet/system/host_dirs.h"

namespace koord::koordlet {

class TempTree {
 public:
  TempTree(std::initializer_list<std::pair<std::string_view, std::string_view>> files = {});
  ~TempTree();
  TempTree(const TempTree&) = delete;
  TempTree& operator=(const TempTree&) = delete;

  std::string path(std::string_view relative = "") const;
  // Creates the parent directories.
  void write(std::string_view relative, std::string_view content);
  void makeDir(std::string_view relative);
  void remove(std::string_view relative);
  // The content, trimmed; "" if there is no such file.
  std::string read(std::string_view relative) const;
  // How many of its files this process has open, including removed ones.
  int openFiles() const;

  // cgroup/, sys/, proc/ and so on below this tree.
  HostDirs dirs() const;

 private:
  std::string root_;  // with a slash at its end
};

}  // namespace koord::koordlet
