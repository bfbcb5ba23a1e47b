#pragma once

// The directories of the host's files. All files that koordlet reads or writes on a host are below
// them, so a container with the host's file systems at other paths, or a test with a fake tree,
// only sets other values. Each ends in a slash.

#include <string>

namespace koord::koordlet {

struct HostDirs {
  std::string cgroupRoot = "/host-cgroup/";
  std::string sysRoot = "/host-sys/";
  std::string sysFsRoot = "/host-sys-fs/";
  std::string procRoot = "/proc/";
  std::string varRunRoot = "/host-var-run/";
  std::string runRoot = "/host-run/";
  std::string varLibKubelet = "/var/lib/kubelet/";
};

// The defaults for a koordlet that runs on the host itself (agent_mode=hostMode).
inline HostDirs hostModeDirs() {
  return {"/sys/fs/cgroup/", "/sys/", "/sys/fs/",         "/proc/",
          "/var/run/",       "/run/", "/var/lib/kubelet/"};
}

inline std::string withSlash(std::string dir) {
  if (dir.empty() || dir.back() != '/') dir += '/';
  return dir;
}

}  // namespace koord::koordlet
