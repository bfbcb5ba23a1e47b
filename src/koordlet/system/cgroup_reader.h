#pragma once

// Typed reads of cgroup files, the same on v1 and v2. Errors name the file; NotFound means that the
// cgroup (of a pod that ended) or the resource does not exist.

#include <cstdint>
#include <string>
#include <vector>

#include "base/cpuset.h"
#include "base/result.h"
#include "koordlet/system/cgroup_file.h"
#include "koordlet/system/open_files.h"

namespace koord::koordlet {

struct CpuThrottling {
  std::int64_t periods = 0;
  std::int64_t throttledPeriods = 0;
};

struct MemoryCounters {
  std::int64_t anon = 0;  // inactive_anon + active_anon
  std::int64_t file = 0;  // inactive_file + active_file
  std::int64_t unevictable = 0;

  std::int64_t usage() const { return anon + unevictable; }  // without page cache
  std::int64_t usageWithPageCache() const { return anon + file + unevictable; }
};

// Not thread-safe: it reuses one buffer and keeps the files open.
class CgroupReader {
 public:
  explicit CgroupReader(const CgroupLayout& layout) : layout_(layout) {}

  // CPU time used since the cgroup was created.
  Result<std::int64_t> cpuUsageNs(std::string_view dir);
  Result<CpuThrottling> cpuThrottling(std::string_view dir);
  Result<MemoryCounters> memoryStat(std::string_view dir);
  // Adds to `bytes`, by NUMA node, the part of memoryStat().usage() on that node; ignores nodes
  // beyond its size.
  Result<> addMemoryByNode(std::string_view dir, std::vector<std::int64_t>& bytes);
  // -1 = no limit, for quota and memory limit.
  Result<std::int64_t> cfsQuotaUs(std::string_view dir);
  Result<std::int64_t> cfsPeriodUs(std::string_view dir);
  Result<std::int64_t> memoryLimit(std::string_view dir);
  Result<std::int64_t> cpuShares(std::string_view dir);
  // The CPUs the cgroup may use: on v2 the effective ones, since its own list may be empty.
  Result<CpuSet> cpuset(std::string_view dir);
  // Usage and throttling in one read where they are in one file (v2).
  struct CpuReading {
    Result<std::int64_t> usageNs;
    Result<CpuThrottling> throttling;
  };
  CpuReading cpu(std::string_view dir);
  // Closes files that were not read since the last call. A reader of pods' cgroups must call it
  // about once a minute; otherwise it keeps files of removed pods open.
  void closeUnused() { files_.closeUnused(); }

 private:
  // Reads the file's content into buffer_ and its path into path_.
  Result<> load(CgroupFile file, std::string_view dir);
  Result<std::int64_t> loadInt(CgroupFile file, std::string_view dir);
  // Parses buffer_, which holds cpu.stat.
  Result<std::int64_t> usageInCpuStat() const;
  Result<CpuThrottling> throttlingInCpuStat() const;
  std::unexpected<Error> malformed(std::string_view why) const;

  const CgroupLayout& layout_;
  OpenFiles files_;
  std::string path_;
  std::string buffer_;
};

}  // namespace koord::koordlet
