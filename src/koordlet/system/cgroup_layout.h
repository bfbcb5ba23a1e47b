#pragma once

// The cgroup controllers of this host with version and mount point. Read from /proc/self/mountinfo:
// v1 with one or several controllers per mount, the unified v2 hierarchy, and hybrids, where a
// controller is in v1 if it is mounted there and else in v2. If mountinfo does not have the cgroup
// root (a fake tree, a bind mount), the layout follows from the directories.

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "koordlet/system/host_dirs.h"

namespace koord::koordlet {

enum class CgroupVersion { V1, V2 };
enum class Subsystem { Cpu, Cpuset, Cpuacct, Memory, Blkio, NetCls, PerfEvent };
inline constexpr std::size_t kSubsystems = 7;

std::string_view nameOf(Subsystem subsystem);

class CgroupLayout {
 public:
  // Returns an error if there is neither a cpu nor a memory controller, because nothing can be
  // measured.
  static Result<CgroupLayout> detect(const HostDirs& dirs);

  bool has(Subsystem subsystem) const { return at(subsystem).has_value(); }
  // V1 for a missing controller, so that error messages name its usual path.
  CgroupVersion version(Subsystem subsystem) const {
    return has(subsystem) ? at(subsystem)->version : CgroupVersion::V1;
  }
  // The directory of a cgroup, given relative to the hierarchy ("kubepods/burstable").
  std::string dir(Subsystem subsystem, std::string_view relative) const;
  // The same into a buffer that keeps its memory.
  void dir(Subsystem subsystem, std::string_view relative, std::string& path) const;
  // "cgroup v1 (cpu, cpuacct: /sys/fs/cgroup/cpu,cpuacct/; ...)"
  std::string describe() const;

 private:
  struct Hierarchy {
    CgroupVersion version;
    std::string root;  // ends in a slash
  };
  const std::optional<Hierarchy>& at(Subsystem s) const {
    return table_[static_cast<std::size_t>(s)];
  }

  std::string cgroupRoot_;
  std::array<std::optional<Hierarchy>, kSubsystems> table_;
};

}  // namespace koord::koordlet
