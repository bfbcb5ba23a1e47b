#pragma once

// The table of cgroup files koordlet knows: one row per resource, named as its v1 file, with the v2
// file that takes its place, the values it accepts, and how to find out whether the kernel has it.

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "koordlet/system/cgroup_layout.h"

namespace koord::koordlet {

enum class CgroupFile {
  CpuStat,
  CpuShares,
  CpuCfsQuota,
  CpuCfsPeriod,
  CpuCfsBurst,
  CpuBvtWarpNs,
  CpuIdle,
  Tasks,
  Procs,
  CpusetCpus,
  CpuacctStat,
  CpuacctUsage,
  CpuPressure,
  MemoryPressure,
  IoPressure,
  MemoryLimit,
  MemoryUsage,
  MemoryStat,
  MemoryNumaStat,
  MemoryMin,
  MemoryLow,
  MemoryHigh,
  MemoryWmarkRatio,
  MemoryWmarkScaleFactor,
  MemoryWmarkMinAdj,
  MemoryPriority,
  MemoryUsePriorityOom,
  MemoryOomGroup,
  MemoryIdlePageStats,
  PagecacheLimitEnable,
  PagecacheLimitSize,
  PagecacheLimitSync,
  BlkioReadIops,
  BlkioWriteIops,
  BlkioReadBps,
  BlkioWriteBps,
  BlkioCostWeight,
  BlkioCostQos,
  BlkioCostModel,
  NetClsClassId,
  IoMax,  // of v2 only, as is the next
  IoWeight,
};

std::string_view nameOf(CgroupFile file);  // the v1 name: "cpu.cfs_quota_us"
std::optional<CgroupFile> cgroupFileOfName(std::string_view name);
Subsystem subsystemOf(CgroupFile file);
// The file's name in that version; "" when that version has no such thing.
std::string_view fileNameIn(CgroupFile file, CgroupVersion version);
// Checks a value as it is written to the file of that version (encodeCgroupValue): cpu.weight has
// another range than cpu.shares.
Result<> validateCgroupValue(CgroupFile file, CgroupVersion version, std::string_view value);
// The text that goes into the file: v2 wants "max" for -1, and a weight for shares.
Result<std::string> encodeCgroupValue(CgroupFile file, CgroupVersion version,
                                      std::string_view value);
// Whether a file that reads `current` already means `encoded`, however the kernel prints it.
bool sameCgroupValue(CgroupFile file, CgroupVersion version, std::string_view current,
                     std::string_view encoded);

// The device that a value of block I/O is about, "8:16"; "" for other files.
std::string_view deviceOf(CgroupFile file, std::string_view value);

// The full path of a cgroup's file; NotFound when this machine's cgroup version does not have it.
Result<std::string> cgroupFilePath(const CgroupLayout& layout, CgroupFile file,
                                   std::string_view dir);
// The same into a text that keeps its memory.
Result<> cgroupFilePath(const CgroupLayout& layout, CgroupFile file, std::string_view dir,
                        std::string& path);
// Where to look whether the kernel supports a file.
enum class CgroupSupport { Always, InDir, InKubepods, InRoot };
CgroupSupport supportOf(CgroupFile file, CgroupVersion version);

}  // namespace koord::koordlet
