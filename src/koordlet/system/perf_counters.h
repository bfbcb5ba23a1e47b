#pragma once

// Cycles and instructions of cgroups, from the CPUs' hardware counters (perf_event in cgroup mode).
// An open counter runs on every CPU and needs two descriptors per CPU. Virtual machines often have
// none.

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
  // Returns the counts since it was opened, scaled up for the time in which other events used the
  // hardware counters.
  virtual Result<CpuWork> read() = 0;
};
// Opens counters of the cgroup with that directory (in the perf_event hierarchy of v1, or v2's). An
// error says what the kernel refused.
Result<std::unique_ptr<PerfCounters>> openPerfCounters(const std::string& cgroupDir,
                                                       const CpuSet& cpus);

}  // namespace koord::koordlet
