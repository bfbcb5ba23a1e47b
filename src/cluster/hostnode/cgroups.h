#pragma once

// Makes, changes and removes cgroups as a kubelet with the cgroupfs driver does, on either cgroup
// version. Paths are relative to the hierarchies: "kubepods/besteffort/pod<uid>/<container id>". A
// cgroup is made in every hierarchy that koordlet looks into; on version 1 cpuset.cpus and
// cpuset.mems, which the kernel leaves empty, are taken from the parent; on version 2 the
// controllers are switched on on the way down.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cluster/hostnode/cgroup_fs.h"
#include "cluster/hostnode/cgroup_layout.h"

namespace koord::cluster {

// Absent fields are left as they are (a new cgroup: the kernel's default).
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

  // Makes the cgroup and its missing parents, then writes the values. One that exists only gets the
  // values.
  Result<> create(const std::string& path, const CgroupValues& values);
  Result<> update(const std::string& path, const CgroupValues& values);
  bool exists(const std::string& path) const;
  // Names of the cgroups directly below, from every hierarchy.
  std::vector<std::string> children(const std::string& path) const;

  // The processes in this cgroup and below it.
  std::vector<int> processes(const std::string& path) const;
  // SIGKILL to all of them. They need a moment to be gone.
  void kill(const std::string& path);
  // Removes the cgroup with all below it, also from hierarchies that only a runtime uses. Conflict while
  // a process is still in one.
  Result<> remove(const std::string& path);

  // Files a process writes its id to (0 = itself) to be in the cgroup in every hierarchy.
  std::vector<std::string> joinFiles(const std::string& path) const;
  // The file that counts the OOM killer's victims in its line "oom_kill <n>".
  std::string oomFile(const std::string& path) const;
  // cpuset.cpus as it is in force there; "" when it cannot be read.
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

// The only check that tells whether pods can run here: makes and removes a cgroup in every
// hierarchy.
Result<> checkWritable(const CgroupLayout& layout, CgroupFs& fs);

}  // namespace koord::cluster
