#pragma once

// The table of cgroup files that koordlet uses: one row per resource, named as its v1 file, with
// the v2 file that replaces it, the valid values, and how to detect whether the kernel has it.

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
  IoMax,  // v2 only, as the next one
  IoWeight,
};

std::string_view nameOf(CgroupFile file);  // the v1 name: "cpu.cfs_quota_us"
std::optional<CgroupFile> cgroupFileOfName(std::string_view name);
Subsystem subsystemOf(CgroupFile file);
// The file's name in that version; "" if that version does not have it.
std::string_view fileNameIn(CgroupFile file, CgroupVersion version);
// Checks a value in the encoding of that version (encodeCgroupValue): cpu.weight has another range
// than cpu.shares.
Result<> validateCgroupValue(CgroupFile file, CgroupVersion version, std::string_view value);
// Returns the text for the file: v2 has "max" for -1, and a weight for shares.
Result<std::string> encodeCgroupValue(CgroupFile file, CgroupVersion version,
                                      std::string_view value);
// Returns true if the content `current` means the same as `encoded`, in any format that the kernel
// prints.
bool sameCgroupValue(CgroupFile file, CgroupVersion version, std::string_view current,
                     std::string_view encoded);

// The device of a value of a block I/O file, "8:16"; "" for other files.
std::string_view deviceOf(CgroupFile file, std::string_view value);

// Returns the full path of a cgroup's file; NotFound if this host's cgroup version does not have
// it.
Result<std::string> cgroupFilePath(const CgroupLayout& layout, CgroupFile file,
                                   std::string_view dir);
// The same into a buffer that keeps its memory.
Result<> cgroupFilePath(const CgroupLayout& layout, CgroupFile file, std::string_view dir,
                        std::string& path);
// Where to look whether the kernel supports a file.
enum class CgroupSupport { Always, InDir, InKubepods, InRoot };
CgroupSupport supportOf(CgroupFile file, CgroupVersion version);

}  // namespace koord::koordlet
