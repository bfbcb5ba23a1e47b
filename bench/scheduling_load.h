#pragma once

// What the benchmarks of whole schedulers share: nodes and pods as in scheduler_perf's
// SchedulingBasic, and what the kernel says of a process.

#include <sys/types.h>

#include <string>

namespace koord::bench {

// JSON bodies for create.
std::string nodeBody(int n);
std::string podBody(const std::string& name, const std::string& scheduler,
                    const std::string& node = "");

struct ProcessUsage {
  double cpuSeconds = 0;  // user and system
  double rssMib = 0;
  double peakMib = 0;
};
// All zero when there is no such process.
ProcessUsage usageOf(pid_t pid);

}  // namespace koord::bench
