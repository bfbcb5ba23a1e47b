#include "cluster/hostnode/cgroup_layout.h"

#include <algorithm>
#include <array>

#include "base/mountinfo.h"

namespace koord::cluster {

namespace {

constexpr std::array kControllers = {"cpu",  "cpuacct", "cpuset",  "memory",     "blkio",
                                     "pids", "net_cls", "hugetlb", "perf_event", "net_prio"};

std::string parentOf(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == 0 || slash == std::string::npos ? "/" : path.substr(0, slash);
}

}  // namespace

Result<CgroupLayout> parseCgroupLayout(std::string_view mountinfo) {
  std::map<std::string, std::string> v1;
  std::string unified;
  std::vector<std::string> others;
  for (const auto& mount : parseMountInfo(mountinfo)) {
    if (mount.type == "cgroup2" && unified.empty()) unified = mount.point;
    if (mount.type == "cgroup2") others.push_back(mount.point);
    if (mount.type != "cgroup") continue;
    bool used = false;
    for (const auto& option : mount.superOptions) {
      if (std::ranges::find(kControllers, option) == kControllers.end()) continue;
      used = true;
      v1.try_emplace(option, mount.point);
    }
    if (!used) others.push_back(mount.point);
  }
  if (const auto cpu = v1.find("cpu"); cpu != v1.end()) {
    const std::string root = parentOf(cpu->second);
    return CgroupLayout{1, root, std::move(v1), std::move(others)};
  }
  if (!unified.empty()) return CgroupLayout{2, unified, {}};
  return fail(ErrorCode::NotFound,
              "/proc/self/mountinfo: no cgroup file system with a cpu controller is mounted");
}

}  // namespace koord::cluster
