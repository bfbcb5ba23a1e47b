#pragma once

// Last-level cache and memory bandwidth per group of tasks: the kernel's resctrl file system on
// Intel and AMD CPUs. This file has its formats and arithmetic; qos/resctrl and hooks/resctrl
// decide which group gets how much.
//
// A group is a directory below <sys/fs>/resctrl with a file `schemata`, lines such as
// "L3:0=7ff;1=7ff" (cache ways as a hexadecimal mask, per cache) and "MB:0=100;1=100" (percent on
// Intel, eighths of GB/s on AMD), and a file `tasks` of thread ids.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "koordlet/system/host_dirs.h"

namespace koord::koordlet::resctrl {

using Domains = std::map<int, std::int64_t>;  // by cache id, which may have gaps

struct Schemata {
  Domains l3;
  Domains mb;
};

// Ignores lines of other resources. Each line must have `caches` entries, if given; both lines must
// always have the same number. An error names the line.
Result<Schemata> parseSchemata(std::string_view text, std::optional<int> caches = std::nullopt);
// "L3:0=f;1=f;\n" and "MB:0=90;1=90;\n"; "" without caches.
std::string l3Line(const Domains& masks);
std::string mbLine(const Domains& values);
// Returns true if a schemata file has the values of the line for each of its caches.
bool hasLine(std::string_view schemata, std::string_view line);

// Returns the mask of ways from start to end percent of `all`, a mask of ones; percents round up to
// ways. 0 if no way lies between them.
Result<std::int64_t> l3Mask(std::int64_t all, std::int64_t startPercent, std::int64_t endPercent);
// Widens the mask to at least `leastWays` adjacent ways within `all`, the hardware's minimum.
std::int64_t withLeastWays(std::int64_t mask, std::int64_t all, int leastWays);

// The hardware's values of memory bandwidth: linear percent on Intel, absolute on AMD.
struct BandwidthScale {
  bool absolute = false;
  std::int64_t step = 10;
  std::int64_t least = 10;
  std::int64_t unlimited = 2048;  // absolute: no limit
};
// Returns nullopt if the percent is not within 1 to 100; then the caller changes nothing.
std::optional<std::int64_t> bandwidthOf(const BandwidthScale& scale, std::int64_t percent);

// The capabilities of this host's resctrl.
struct Machine {
  std::int64_t allWays = 0;  // mask
  int leastWays = 1;
  BandwidthScale bandwidth;
  Domains rootL3;  // of the root group: its ids are those of the caches
  Domains rootMb;
};

inline std::string rootDir(const HostDirs& dirs) {
  return dirs.sysFsRoot + "resctrl/";
}
// Success if the CPU has both controls; the error says which one is missing.
Result<> cpuSupport(const HostDirs& dirs);
// Mounts the file system unless it is there.
Result<> mount(const HostDirs& dirs);
// Returns true if the CPUs are AMD's. Call once, because it reads the data of all CPUs.
bool isAmd(const HostDirs& dirs);
Result<Machine> readMachine(const HostDirs& dirs, bool amd);
// Creates the group's directory; false if it existed.
Result<bool> makeGroup(const HostDirs& dirs, const std::string& group);

// Thread ids of a `tasks` file.
Result<std::set<int>> readTasks(const std::string& path);

}  // namespace koord::koordlet::resctrl
