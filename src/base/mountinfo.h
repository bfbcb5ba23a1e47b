#pragma once

// The mounts of a process, as the kernel lists them in /proc/PID/mountinfo (proc_pid_mountinfo(5)).
// Pure; any thread.

#include <string>
#include <string_view>
#include <vector>

namespace koord {

struct MountInfo {
  std::string point;  // where it is mounted; with blanks and other characters unescaped (not \040)
  std::string type;   // "cgroup2", "tmpfs"
  // Options of the file system, not of this mount: a cgroup version 1 hierarchy names its
  // controllers here.
  std::vector<std::string> superOptions;
};

// In the order of the text, the oldest mount first. Skips lines of another form.
std::vector<MountInfo> parseMountInfo(std::string_view text);

}  // namespace koord
