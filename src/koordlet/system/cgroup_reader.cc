#include "koordlet/system/cgroup_reader.h"

#include <fmt/core.h>

#include "base/split.h"
#include "koordlet/system/conversions.h"
#include "koordlet/system/procfs.h"
#include "koordlet/system/small_file.h"

namespace koord::koordlet {
namespace {

// v1 prints "no limit" as the largest multiple of the page size.
constexpr std::int64_t kV1NoMemoryLimit = 0x7FFFFFFFFFFFF000;
constexpr std::int64_t kLargestAmount = std::int64_t{1} << 50;  // bytes; more is garbage

}  // namespace

std::unexpected<Error> CgroupReader::malformed(std::string_view why) const {
  return fail(ErrorCode::Invalid, fmt::format("{}: {}", path_, why));
}

Result<> CgroupReader::load(CgroupFile file, std::string_view dir) {
  if (auto found = cgroupFilePath(layout_, file, dir, path_); !found) return found;
  return files_.read(path_, buffer_);
}

Result<std::int64_t> CgroupReader::loadInt(CgroupFile file, std::string_view dir) {
  auto loaded = load(file, dir);
  if (!loaded) return fail(std::move(loaded.error()));
  auto value = parseInt(buffer_);
  if (!value) return malformed(value.error().message);
  return value;
}

Result<std::int64_t> CgroupReader::usageInCpuStat() const {
  std::string_view rest = buffer_;
  // The first line, in every kernel so far; searched for all the same.
  const auto at = rest.find("usage_usec ");
  if (at == std::string_view::npos) return malformed("no line usage_usec");
  rest.remove_prefix(at + 11);
  const auto micros = parseInt(rest.substr(0, rest.find('\n')));
  if (!micros) return malformed(micros.error().message);
  return *micros * 1000;
}

Result<CpuThrottling> CgroupReader::throttlingInCpuStat() const {
  CpuThrottling result;
  int found = 0;
  forEachLine(buffer_, [&](std::string_view line) {
    if (!line.starts_with("nr_")) return;
    const auto key = takeWord(line);
    std::int64_t* field = key == "nr_periods"     ? &result.periods
                          : key == "nr_throttled" ? &result.throttledPeriods
                                                  : nullptr;
    if (!field) return;
    if (const auto value = parseInt(line)) {
      *field = *value;
      ++found;
    }
  });
  // The root cgroup of v2 has neither: it cannot be throttled.
  if (found != 2) return malformed("no lines nr_periods and nr_throttled");
  return result;
}

Result<std::int64_t> CgroupReader::cpuUsageNs(std::string_view dir) {
  if (layout_.version(Subsystem::Cpuacct) == CgroupVersion::V1)
    return loadInt(CgroupFile::CpuacctUsage, dir);
  auto loaded = load(CgroupFile::CpuacctUsage, dir);
  if (!loaded) return fail(std::move(loaded.error()));
  return usageInCpuStat();
}

Result<CpuThrottling> CgroupReader::cpuThrottling(std::string_view dir) {
  auto loaded = load(CgroupFile::CpuStat, dir);
  if (!loaded) return fail(std::move(loaded.error()));
  return throttlingInCpuStat();
}

CgroupReader::CpuReading CgroupReader::cpu(std::string_view dir) {
  auto usage = cpuUsageNs(dir);
  // The file of the usage is still in the buffer.
  if (usage && layout_.version(Subsystem::Cpuacct) == CgroupVersion::V2 &&
      layout_.version(Subsystem::Cpu) == CgroupVersion::V2)
    return {std::move(usage), throttlingInCpuStat()};
  return {std::move(usage), cpuThrottling(dir)};
}

Result<MemoryCounters> CgroupReader::memoryStat(std::string_view dir) {
  auto loaded = load(CgroupFile::MemoryStat, dir);
  if (!loaded) return fail(std::move(loaded.error()));
  // v1 counts the cgroup alone in the plain keys and with its children in total_*; v2 has only the
  // latter.
  const std::string_view prefix =
      layout_.version(Subsystem::Memory) == CgroupVersion::V1 ? "total_" : "";
  MemoryCounters stat;
  int found = 0;
  forEachLine(buffer_, [&](std::string_view line) {
    if (!line.starts_with(prefix)) return;
    line.remove_prefix(prefix.size());
    // The five keys start with these letters; most of the 40 lines end here.
    if (line.empty() || (line[0] != 'i' && line[0] != 'a' && line[0] != 'u')) return;
    const auto key = takeWord(line);
    std::int64_t* field = nullptr;
    if (key == "inactive_anon" || key == "active_anon") field = &stat.anon;
    if (key == "inactive_file" || key == "active_file") field = &stat.file;
    if (key == "unevictable") field = &stat.unevictable;
    if (!field) return;
    if (const auto value = parseInt(line)) {
      *field += *value;
      ++found;
    }
  });
  if (found != 5)
    return malformed(
        fmt::format("only {1} of {0}inactive_anon, {0}active_anon, {0}inactive_file, "
                    "{0}active_file and {0}unevictable exist",
                    prefix, found));
  return stat;
}

Result<> CgroupReader::addMemoryByNode(std::string_view dir, std::vector<std::int64_t>& bytes) {
  if (auto loaded = load(CgroupFile::MemoryNumaStat, dir); !loaded) return loaded;
  // "hierarchical_anon=75 N0=70 N1=5" in pages; "anon N0=4096 N1=0" in bytes.
  const bool v1 = layout_.version(Subsystem::Memory) == CgroupVersion::V1;
  const std::int64_t unit = v1 ? pageSize() : 1;
  bool found = false;
  forEachLine(buffer_, [&](std::string_view line) {
    auto key = takeWord(line);
    if (v1) {
      constexpr std::string_view kWithChildren = "hierarchical_";
      if (!key.starts_with(kWithChildren)) return;
      key.remove_prefix(kWithChildren.size());
      key = key.substr(0, key.find('='));
    }
    if (key != "anon" && key != "unevictable") return;
    found = true;
    for (auto word = takeWord(line); !word.empty(); word = takeWord(line)) {
      const auto equals = word.find('=');
      if (!word.starts_with('N') || equals == std::string_view::npos) continue;
      const auto node = parseInt(word.substr(1, equals - 1));
      const auto amount = parseInt(word.substr(equals + 1));
      if (!node || *node < 0 || static_cast<std::size_t>(*node) >= bytes.size()) continue;
      if (amount && *amount >= 0 && *amount < kLargestAmount / unit)
        bytes[static_cast<std::size_t>(*node)] += *amount * unit;
    }
  });
  if (!found) return malformed("no line for anonymous memory");
  return {};
}

Result<std::int64_t> CgroupReader::cfsQuotaUs(std::string_view dir) {
  if (layout_.version(Subsystem::Cpu) == CgroupVersion::V1)
    return loadInt(CgroupFile::CpuCfsQuota, dir);
  auto loaded = load(CgroupFile::CpuCfsQuota, dir);
  if (!loaded) return fail(std::move(loaded.error()));
  auto quota = quotaOfCpuMax(buffer_);
  if (!quota) return malformed(quota.error().message);
  return quota;
}

Result<std::int64_t> CgroupReader::cfsPeriodUs(std::string_view dir) {
  if (layout_.version(Subsystem::Cpu) == CgroupVersion::V1)
    return loadInt(CgroupFile::CpuCfsPeriod, dir);
  auto loaded = load(CgroupFile::CpuCfsPeriod, dir);
  if (!loaded) return fail(std::move(loaded.error()));
  auto period = periodOfCpuMax(buffer_);
  if (!period) return malformed(period.error().message);
  return period;
}

Result<std::int64_t> CgroupReader::memoryLimit(std::string_view dir) {
  auto loaded = load(CgroupFile::MemoryLimit, dir);
  if (!loaded) return fail(std::move(loaded.error()));
  const auto limit = parseAmount(buffer_);
  if (!limit) return malformed(limit.error().message);
  return *limit >= kV1NoMemoryLimit ? -1 : *limit;
}

Result<std::int64_t> CgroupReader::cpuShares(std::string_view dir) {
  auto value = loadInt(CgroupFile::CpuShares, dir);
  if (!value || layout_.version(Subsystem::Cpu) == CgroupVersion::V1) return value;
  return weightToShares(*value);
}

Result<CpuSet> CgroupReader::cpuset(std::string_view dir) {
  const bool v2 = layout_.version(Subsystem::Cpuset) == CgroupVersion::V2;
  layout_.dir(Subsystem::Cpuset, dir, path_);
  path_ += v2 ? "cpuset.cpus.effective" : "cpuset.cpus";
  auto loaded = files_.read(path_, buffer_);
  if (!loaded) return fail(std::move(loaded.error()));
  auto cpus = CpuSet::parse(trim(buffer_));
  if (!cpus) return malformed(cpus.error().message);
  return *std::move(cpus);
}

}  // namespace koord::koordlet
