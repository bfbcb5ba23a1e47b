#pragma once

// A fake host made of files: CPUs, memory, and a kubepods tree on cgroup v1 (one controller per
// mount) or v2. A test advances its counters and reads back as text what koordlet writes.
//
//   FakeHost host(CgroupVersion::V2, {.cpus = 16, .memoryBytes = 64LL << 30});
//   const auto pod = host.addPod(KubeQos::BestEffort, "uid-1", {"containerd://c1"});
//   host.consumeCpu(pod, 2.5, 1s);   // the pod used 2.5 cores for a second

#include <map>
#include <string>
#include <vector>

#include "base/executor.h"
#include "koordlet/system/cgroup_file.h"
#include "koordlet/system/cgroup_path.h"
#include "koordlet/testing/temp_tree.h"

namespace koord::koordlet {

inline constexpr std::int64_t kGiB = std::int64_t{1} << 30;

struct FakeMachine {
  int cpus = 16;
  int threadsPerCore = 1;
  int numaNodes = 1;
  std::int64_t memoryBytes = std::int64_t{64} << 30;
  CgroupDriver driver = CgroupDriver::Cgroupfs;
};

class FakeHost {
 public:
  FakeHost(CgroupVersion version, FakeMachine machine);

  HostDirs dirs() const { return tree_.dirs(); }
  TempTree& tree() { return tree_; }
  CgroupDriver driver() const { return machine_.driver; }

  // Both return the cgroup directory of the pod, relative to a hierarchy.
  std::string addPod(KubeQos qos, std::string_view uid,
                     const std::vector<std::string>& containerIds);
  void removePod(KubeQos qos, std::string_view uid);
  std::string containerDir(std::string_view podDir, std::string_view containerId) const;

  // Adds CPU time to a cgroup and all its parents, including the host.
  void consumeCpu(std::string_view dir, double cores, Duration span);
  // Adds CPU time outside of kubepods.
  void consumeSystemCpu(double cores, Duration span);
  // Adds periods of the quota, in `throttled` of which the cgroup was throttled.
  void addPeriods(const std::string& dir, int periods, int throttled);
  void setMemory(std::string_view dir, std::int64_t bytes);
  // Sets the host's memory in use (MemTotal - MemAvailable).
  void setMemoryUsed(std::int64_t bytes);

  // Content of a cgroup's file; on v2 in the format of v2 ("max 100000").
  std::string cgroupText(CgroupFile file, std::string_view dir) const;
  void setCgroupText(CgroupFile file, std::string_view dir, std::string_view text);
  // Completes written values as a kernel does; the files keep the written text until then. On v2
  // adds the period to cpu.max and updates cpuset.cpus.effective. Call it after each round of
  // koordlet.
  void settle();

 private:
  std::string relative(CgroupFile file, std::string_view dir) const;
  void makeCgroup(const std::string& dir);
  void writeUsage(const std::string& dir);
  void writeStat();

  CgroupVersion version_;
  FakeMachine machine_;
  TempTree tree_;
  std::map<std::string, std::int64_t> usageNs_;  // by cgroup
  struct Periods {
    std::int64_t all = 0, throttled = 0;
  };
  std::map<std::string, Periods> periods_;
  std::int64_t machineNs_ = 0;
};

}  // namespace koord::koordlet
