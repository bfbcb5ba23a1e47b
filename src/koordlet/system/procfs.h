#pragma once

// What /proc tells about the whole machine.

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "koordlet/system/host_dirs.h"

namespace koord::koordlet {

// CPU time in clock ticks since boot: user + nice + system + irq + softirq; neither idle, iowait
// nor steal.
struct CpuTicks {
  std::int64_t total = 0;
  std::vector<std::pair<int, std::int64_t>> perCpu;  // by CPU number
};
Result<CpuTicks> readCpuTicks(const std::string& procRoot);
// Ticks per second, the kernel's USER_HZ.
std::int64_t ticksPerSecond();

struct MemInfo {  // bytes
  std::int64_t total = 0;
  std::int64_t available = 0;
  std::int64_t free = 0;

  std::int64_t used() const { return total - available; }
};
Result<MemInfo> readMemInfo(const std::string& procRoot);

// Bytes of ordinary memory (without huge pages) of each NUMA node, from 0 on without gaps; a machine
// that does not show any has one.
Result<std::vector<std::int64_t>> readZoneMemory(const HostDirs& dirs);

// How kubelet on this machine was told to make cgroups; NotFound when no kubelet runs.
Result<std::string> cgroupDriverOfKubelet(const std::string& procRoot);

}  // namespace koord::koordlet
