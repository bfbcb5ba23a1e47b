#pragma once

// kubepods below a cgroup of our own in this machine's hierarchies (version 1), as kubelet makes
// it. Needs root. The other folders of koordlet are in a temporary folder. Everything is removed at
// the end.
//
//   const RealCgroups cgroups("koordlet-bench");
//   cgroups.make(podDir(CgroupDriver::Cgroupfs, KubeQos::BestEffort, uid));
//   options.dirs = cgroups.dirs();

#include <string>
#include <string_view>

#include "koordlet/system/host_dirs.h"
#include "koordlet/testing/temp_tree.h"

namespace koord::koordlet {

class RealCgroups {
 public:
  // False without root or without mounts of version 1 in /sys/fs/cgroup.
  static bool usable();

  // The cgroup's name is `name` and the process id.
  explicit RealCgroups(std::string_view name);
  ~RealCgroups();
  RealCgroups(const RealCgroups&) = delete;
  RealCgroups& operator=(const RealCgroups&) = delete;

  HostDirs dirs() const;
  std::string file(std::string_view controller, const std::string& dir,
                   std::string_view name) const;
  // In all hierarchies. The parent must exist.
  void make(const std::string& dir) const;
  // With all below it.
  void remove(const std::string& dir) const;

 private:
  std::string root(std::string_view controller) const;
  void make(std::string_view controller, const std::string& dir) const;

  std::string name_;
  TempTree tree_;
};

}  // namespace koord::koordlet
