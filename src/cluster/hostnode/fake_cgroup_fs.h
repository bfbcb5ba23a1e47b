#pragma once

// A cgroup tree in memory for tests: new folders are empty, writes are stored, the test writes the
// processes of a cgroup to its cgroup.procs, and SIGKILL removes them.

#include <map>
#include <set>
#include <sstream>

#include "cluster/hostnode/cgroup_fs.h"

namespace koord::cluster {

class FakeCgroupFs final : public CgroupFs {
 public:
  std::set<std::string> dirs;
  std::map<std::string, std::string> files;
  std::vector<std::pair<int, int>> signals;  // pid, signal

  bool isDir(const std::string& path) const override { return dirs.contains(path); }

  Result<> makeDir(const std::string& path) override {
    if (!dirs.contains(path.substr(0, path.rfind('/'))))
      return fail(ErrorCode::NotFound, "mkdir " + path + ": No such file or directory");
    dirs.insert(path);
    return {};
  }

  Result<> removeDir(const std::string& path) override {
    if (!dirs.contains(path)) return {};
    const auto procs = files.find(path + "/cgroup.procs");
    if (!subdirs(path).empty() || (procs != files.end() && !procs->second.empty()))
      return fail(ErrorCode::Conflict, "rmdir " + path + ": Device or resource busy");
    dirs.erase(path);
    std::erase_if(files, [&](const auto& file) { return file.first.starts_with(path + "/"); });
    return {};
  }

  std::vector<std::string> subdirs(const std::string& path) const override {
    std::vector<std::string> names;
    for (const auto& dir : dirs)
      if (dir.starts_with(path + "/") && dir.find('/', path.size() + 1) == std::string::npos)
        names.push_back(dir.substr(path.size() + 1));
    return names;
  }

  Result<std::string> read(const std::string& path) const override {
    const auto file = files.find(path);
    if (file == files.end())
      return fail(ErrorCode::NotFound, "open " + path + ": No such file or directory");
    return file->second;
  }

  Result<> write(const std::string& path, std::string_view text) override {
    if (!dirs.contains(path.substr(0, path.rfind('/'))))
      return fail(ErrorCode::NotFound, "open " + path + ": No such file or directory");
    files[path] = text;
    return {};
  }

  void signal(int pid, int signal) override {
    signals.emplace_back(pid, signal);
    if (signal != 9) return;
    for (auto& [path, text] : files) {
      if (!path.ends_with("/cgroup.procs")) continue;
      std::istringstream in(text);
      std::string left;
      for (int other = 0; in >> other;)
        if (other != pid) left += std::to_string(other) + "\n";
      text = left;
    }
  }
};

}  // namespace koord::cluster
