#pragma once

// Access of the host node to cgroup file systems. An interface, so that unit tests use a fake tree
// (fake_cgroup_fs.h) and only the tests named ROOT_ use the real one.

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace koord::cluster {

class CgroupFs {
 public:
  virtual ~CgroupFs() = default;

  virtual bool isDir(const std::string& path) const = 0;
  // Creates one level; succeeds if it exists.
  virtual Result<> makeDir(const std::string& path) = 0;
  // Removes an empty cgroup; succeeds if it does not exist. Conflict if it is busy.
  virtual Result<> removeDir(const std::string& path) = 0;
  virtual std::vector<std::string> subdirs(const std::string& path) const = 0;
  virtual Result<std::string> read(const std::string& path) const = 0;
  virtual Result<> write(const std::string& path, std::string_view text) = 0;
  virtual void signal(int pid, int signal) = 0;
};

class RealCgroupFs final : public CgroupFs {
 public:
  bool isDir(const std::string& path) const override;
  Result<> makeDir(const std::string& path) override;
  Result<> removeDir(const std::string& path) override;
  std::vector<std::string> subdirs(const std::string& path) const override;
  Result<std::string> read(const std::string& path) const override;
  Result<> write(const std::string& path, std::string_view text) override;
  void signal(int pid, int signal) override;
};

}  // namespace koord::cluster
