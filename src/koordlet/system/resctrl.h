#pragma once

// Last-level cache and memory bandwidth per group of tasks: the kernel's resctrl file system of Intel
// and AMD machines. Here are its texts and its arithmetic; who gets what is decided elsewhere
// (qos/resctrl, hooks/resctrl).
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

// Lines of other resources are passed over. With `caches` given, each line must have so many; in any
// case both lines must have the same number. An error names the line.
Result<Schemata> parseSchemata(std::string_view text, std::optional<int> caches = std::nullopt);
// "L3:0=f;1=f;\n" and "MB:0=90;1=90;\n"; "" without caches.
std::string l3Line(const Domains& masks);
std::string mbLine(const Domains& values);
// Whether a schemata file says what the line says, cache by cache.
bool saysLine(std::string_view schemata, std::string_view line);

// The ways from start to end percent of `all`, a mask of ones; percents round up to ways. 0 when no
// way lies between them.
Result<std::int64_t> l3Mask(std::int64_t all, std::int64_t startPercent, std::int64_t endPercent);
// At least so many ways side by side, within `all`: hardware takes no less.
std::int64_t withLeastWays(std::int64_t mask, std::int64_t all, int leastWays);

// What the hardware takes as memory bandwidth. Linear percent on Intel, absolute on AMD.
struct BandwidthScale {
  bool absolute = false;
  std::int64_t step = 10;
  std::int64_t least = 10;
  std::int64_t unlimited = 2048;  // absolute: no limit
};
// nullopt when the percent is not within 1 to 100: nothing is to be changed.
std::optional<std::int64_t> bandwidthOf(const BandwidthScale& scale, std::int64_t percent);

// What this machine can do, and how to say it.
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
// Whether the CPU has both controls; the text says what is missing.
Result<> cpuSupport(const HostDirs& dirs);
// Mounts the file system unless it is there.
Result<> mount(const HostDirs& dirs);
// Whose CPUs these are; once, since it reads about all of them.
bool isAmd(const HostDirs& dirs);
Result<Machine> readMachine(const HostDirs& dirs, bool amd);
// Makes the group's directory; false when it was there.
Result<bool> makeGroup(const HostDirs& dirs, const std::string& group);

// Thread ids of a `tasks` file.
Result<std::set<int>> readTasks(const std::string& path);

}  // namespace koord::koordlet::resctrl
