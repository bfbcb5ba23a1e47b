#pragma once

// Pressure stall information (PSI): how long tasks of a cgroup, or of the host, waited for CPU,
// memory or I/O, in percent of the last 10, 60 and 300 seconds.

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "koordlet/system/cgroup_layout.h"

namespace koord::koordlet {

struct StallAverages {
  double avg10 = 0, avg60 = 0, avg300 = 0;
};
struct Pressure {
  StallAverages some;
  std::optional<StallAverages> full;  // absent for the CPU on older kernels
};
// "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\nfull ..."
Result<Pressure> parsePressure(std::string_view text);

struct CgroupPressure {
  Pressure cpu, memory, io;
};
// Reads the pressure of a cgroup; an error names the missing or malformed file.
Result<CgroupPressure> readPressure(const CgroupLayout& layout, std::string_view dir);

}  // namespace koord::koordlet
