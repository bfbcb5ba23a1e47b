#pragma once

// Values of the whole host from /proc.

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
// The same into `ticks`, with the buffer `text`; both keep their memory.
Result<> readCpuTicks(const std::string& procRoot, CpuTicks& ticks, std::string& text);
// Ticks per second, the kernel's USER_HZ.
std::int64_t ticksPerSecond();
// Bytes of a page of memory: 4,096, and on some ARM machines 65,536.
std::int64_t pageSize();

struct MemInfo {  // bytes
  std::int64_t total = 0;
  std::int64_t available = 0;
  std::int64_t free = 0;

  std::int64_t used() const { return total - available; }
};
Result<MemInfo> readMemInfo(const std::string& procRoot);
Result<MemInfo> readMemInfo(const std::string& procRoot, std::string& text);

// The memory of one NUMA node, in bytes.
struct ZoneMemory {
  std::int64_t total = 0;  // without huge pages
  std::int64_t hugePages2Mi = 0, hugePages1Gi = 0;
  bool operator==(const ZoneMemory&) const = default;
};
// Returns the memory of each NUMA node, from 0 on without gaps; a host that does not show any has
// one. Omits nodes after them that are the memory of a device.
Result<std::vector<ZoneMemory>> readZoneMemory(const HostDirs& dirs);
// Bytes in use on a NUMA node, `text` as above: memory that is neither free nor reclaimable at
// once. The kernel reports this (MemAvailable) only for the whole host, so it is computed.
Result<std::int64_t> readZoneUsed(const HostDirs& dirs, int node, std::string& text);

// Returns the cgroup driver of the running kubelet; NotFound if no kubelet runs.
Result<std::string> cgroupDriverOfKubelet(const std::string& procRoot);

}  // namespace koord::koordlet
