#pragma once

// The mount points of the host's cgroup hierarchies, from /proc/self/mountinfo: one unified tree
// (version 2, the default of Debian 12 with systemd), or a mount per controller or group of
// controllers (version 1, also in the hybrid form with an additional unused version 2 tree).

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace koord::cluster {

struct CgroupLayout {
  int version = 0;   // 1 or 2
  std::string root;  // the value for koordlet's --cgroup-root-dir: "/sys/fs/cgroup"
  // Version 1: controller -> its mount point ("cpu" -> "/sys/fs/cgroup/cpu,cpuacct").
  // Version 2: empty, everything is below root.
  std::map<std::string, std::string> controllers;
  // Version 1: mount points of hierarchies that only a container runtime uses: devices, freezer,
  // systemd's, an unused version 2 tree.
  std::vector<std::string> others = {};
};

// Fails with NotFound if no mounted cgroup file system can limit CPU.
Result<CgroupLayout> parseCgroupLayout(std::string_view mountinfo);

}  // namespace koord::cluster
