#pragma once

// Creates, changes and removes cgroups as a kubelet with the cgroupfs driver does, on either cgroup
// version. Paths are relative to the hierarchies: "kubepods/besteffort/pod<uid>/<container id>". A
// cgroup is created in every hierarchy that koordlet uses. On version 1 cpuset.cpus and
// cpuset.mems, which the kernel leaves empty, are copied from the parent; on version 2 the
// controllers are enabled on the way down.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cluster/hostnode/cgroup_fs.h"
#include "cluster/hostnode/cgroup_layout.h"

namespace koord::cluster {

// Absent fields do not change (in a new cgroup: the kernel's default).
struct CgroupValues {
  std::optional<std::int64_t> cpuShares;   // 2..262144, also on version 2, where it is converted
  std::optional<std::int64_t> cpuQuotaUs;  // per period; -1 = no limit
  std::int64_t cpuPeriodUs = 100'000;      // written with the quota
  std::optional<std::int64_t> memoryLimitBytes;  // -1 = no limit
  bool operator==(const CgroupValues&) const = default;
};

class Cgroups {
 public:
  Cgroups(CgroupLayout layout, CgroupFs& fs);

  const CgroupLayout& layout() const { return layout_; }

  // Creates the cgroup and its missing parents, then writes the values. An existing cgroup only
  // gets the values.
  Result<> create(const std::string& path, const CgroupValues& values);
  Result<> update(const std::string& path, const CgroupValues& values);
  bool exists(const std::string& path) const;
  // Names of the direct child cgroups, from every hierarchy.
  std::vector<std::string> children(const std::string& path) const;

  // The processes in this cgroup and below it.
  std::vector<int> processes(const std::string& path) const;
  // Sends SIGKILL to all of them. They take a moment to end.
  void kill(const std::string& path);
  // Stops all of them until thaw(). On version 1 by SIGSTOP, since koordlet's hierarchies have no
  // freezer.
  Result<> freeze(const std::string& path);
  // Lets them continue; of a cgroup that is not frozen, too.
  Result<> thaw(const std::string& path);
  // Removes the cgroup with its children, also from hierarchies that only a runtime uses. Conflict
  // if it has a process.
  Result<> remove(const std::string& path);

  // Files to which a process writes its id (0 = itself) to join the cgroup in every hierarchy.
  std::vector<std::string> joinFiles(const std::string& path) const;
  // The file that counts the OOM killer's victims in its line "oom_kill <n>".
  std::string oomFile(const std::string& path) const;
  // The effective cpuset.cpus; "" if it cannot be read.
  std::string cpuset(const std::string& path) const;

 private:
  Result<> createIn(const std::string& mount, const std::string& path, bool cpuset);
  std::string fileOf(const std::string& controller, const std::string& path,
                     const char* file) const;
  Result<> removeTree(const std::string& dir);
  void processesBelow(const std::string& dir, std::vector<int>& out) const;

  CgroupLayout layout_;
  CgroupFs& fs_;
  std::vector<std::string> mounts_;  // each hierarchy once
};

// Checks whether pods can run here: creates and removes a cgroup in every hierarchy. There is no
// other reliable check.
Result<> checkWritable(const CgroupLayout& layout, CgroupFs& fs);

}  // namespace koord::cluster
