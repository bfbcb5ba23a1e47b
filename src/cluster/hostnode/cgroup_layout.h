#pragma once

// Where this machine's cgroup hierarchies are mounted, read from /proc/self/mountinfo: one unified
// tree (version 2, the default of Debian 12 with systemd), or a mount per controller or group of
// controllers (version 1, also in the hybrid form where an unused version 2 tree is mounted beside
// them).

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace koord::cluster {

struct CgroupLayout {
  int version = 0;   // 1 or 2
  std::string root;  // what koordlet's --cgroup-root-dir has to be: "/sys/fs/cgroup"
  // Version 1: controller -> its mount point ("cpu" -> "/sys/fs/cgroup/cpu,cpuacct").
  // Version 2: empty, everything is below root.
  std::map<std::string, std::string> controllers;
  // Version 1: mount points of hierarchies that are not used here but by a container runtime: devices,
  // freezer, systemd's, an unused version 2 tree.
  std::vector<std::string> others = {};
};

// Fails with NotFound when no cgroup file system that can limit CPU is mounted.
Result<CgroupLayout> parseCgroupLayout(std::string_view mountinfo);

}  // namespace koord::cluster
