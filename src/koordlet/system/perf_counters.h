#pragma once

// Cycles and instructions of cgroups, counted by the CPUs (perf_event). Counters run on every CPU
// while one is open, in cgroup mode: two descriptors per CPU. Virtual machines often have none.

#include <cstdint>
#include <memory>
#include <string>

#include "base/cpuset.h"
#include "base/result.h"

namespace koord::koordlet {

struct CpuWork {
  double cycles = 0;
  double instructions = 0;
};

class PerfCounters {
 public:
  virtual ~PerfCounters() = default;
  // What was counted since it was opened, scaled up for the time in which other events had the
  // counters.
  virtual Result<CpuWork> read() = 0;
};
// Of the cgroup with that directory (in the perf_event hierarchy of v1, or v2's). An error says what
// the kernel refused.
Result<std::unique_ptr<PerfCounters>> openPerfCounters(const std::string& cgroupDir,
                                                       const CpuSet& cpus);

}  // namespace koord::koordlet
