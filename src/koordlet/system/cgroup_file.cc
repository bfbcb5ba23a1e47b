#include "koordlet/system/cgroup_file.h"

#include <fmt/core.h>

#include <array>

#include "base/cpuset.h"
#include "base/split.h"
#include "koordlet/system/conversions.h"
#include "koordlet/system/procfs.h"
#include "koordlet/system/small_file.h"

namespace koord::koordlet {
namespace {

enum class Values { Any, Range, CpuList, DeviceAmount, ClassId };

struct Row {
  CgroupFile file;
  std::string_view name;
  Subsystem subsystem;
  std::string_view v2Name;  // "" = not in v2
  Values values = Values::Any;
  std::int64_t min = 0, max = 0;  // Range, DeviceAmount
  std::int64_t v2Min = 0, v2Max = 0;
  CgroupSupport v1Support = CgroupSupport::Always;
  CgroupSupport v2Support = CgroupSupport::Always;
  bool inV1 = true;
};

using enum CgroupFile;
using enum Subsystem;
using enum CgroupSupport;
using enum Values;

constexpr Row plain(CgroupFile file, std::string_view name, Subsystem s, std::string_view v2) {
  return {file, name, s, v2};
}
constexpr Row ranged(CgroupFile file, std::string_view name, Subsystem s, std::string_view v2,
                     std::int64_t min, std::int64_t max, CgroupSupport v1, CgroupSupport inV2) {
  return {file, name, s, v2, Range, min, max, min, max, v1, inV2};
}
constexpr Row v2Only(CgroupFile file, std::string_view name, std::int64_t max) {
  return {file, name, Memory, name, Range, 0, max, 0, max, InDir, InDir, false};
}

constexpr std::array kRows = {
    plain(CpuStat, "cpu.stat", Cpu, "cpu.stat"),
    Row{CpuShares, "cpu.shares", Cpu, "cpu.weight", Range, kMinShares, kMaxShares, 1, kMaxWeight},
    plain(CpuCfsQuota, "cpu.cfs_quota_us", Cpu, "cpu.max"),
    plain(CpuCfsPeriod, "cpu.cfs_period_us", Cpu, "cpu.max"),
    Row{CpuCfsBurst, "cpu.cfs_burst_us", Cpu, "cpu.max.burst", Range, 0, 100'000'000, 0, INT64_MAX,
        InDir, InKubepods},
    ranged(CpuBvtWarpNs, "cpu.bvt_warp_ns", Cpu, "cpu.bvt_warp_ns", -1, 2, InDir, InDir),
    ranged(CpuIdle, "cpu.idle", Cpu, "cpu.idle", 0, 1, InKubepods, InKubepods),
    plain(Tasks, "tasks", Cpu, "cgroup.threads"),
    plain(Procs, "cgroup.procs", Cpu, "cgroup.procs"),
    Row{CpusetCpus, "cpuset.cpus", Cpuset, "cpuset.cpus", CpuList},
    plain(CpuacctStat, "cpuacct.stat", Cpuacct, "cpu.stat"),
    plain(CpuacctUsage, "cpuacct.usage", Cpuacct, "cpu.stat"),
    Row{CpuPressure, "cpu.pressure", Cpuacct, "cpu.pressure", Any, 0, 0, 0, 0, InKubepods,
        InKubepods},
    Row{MemoryPressure, "memory.pressure", Cpuacct, "memory.pressure", Any, 0, 0, 0, 0, InKubepods,
        InKubepods},
    Row{IoPressure, "io.pressure", Cpuacct, "io.pressure", Any, 0, 0, 0, 0, InKubepods, InKubepods},
    plain(MemoryLimit, "memory.limit_in_bytes", Memory, "memory.max"),
    plain(MemoryUsage, "memory.usage_in_bytes", Memory, "memory.current"),
    plain(MemoryStat, "memory.stat", Memory, "memory.stat"),
    plain(MemoryNumaStat, "memory.numa_stat", Memory, "memory.numa_stat"),
    ranged(MemoryMin, "memory.min", Memory, "memory.min", 0, INT64_MAX, InKubepods, Always),
    ranged(MemoryLow, "memory.low", Memory, "memory.low", 0, INT64_MAX, InKubepods, Always),
    ranged(MemoryHigh, "memory.high", Memory, "memory.high", 0, INT64_MAX, InKubepods, Always),
    ranged(MemoryWmarkRatio, "memory.wmark_ratio", Memory, "memory.wmark_ratio", 0, 100, InKubepods,
           InDir),
    ranged(MemoryWmarkScaleFactor, "memory.wmark_scale_factor", Memory, "memory.wmark_scale_factor",
           1, 1000, InKubepods, InDir),
    ranged(MemoryWmarkMinAdj, "memory.wmark_min_adj", Memory, "memory.wmark_min_adj", -25, 50,
           InKubepods, InDir),
    ranged(MemoryPriority, "memory.priority", Memory, "memory.priority", 0, 12, InKubepods, InDir),
    ranged(MemoryUsePriorityOom, "memory.use_priority_oom", Memory, "memory.use_priority_oom", 0, 1,
           InKubepods, InDir),
    ranged(MemoryOomGroup, "memory.oom.group", Memory, "memory.oom.group", 0, 1, InKubepods, InDir),
    Row{MemoryIdlePageStats, "memory.idle_page_stats", Memory, "", Any, 0, 0, 0, 0, InKubepods},
    v2Only(PagecacheLimitEnable, "memory.pagecache_limit.enable", 1),
    v2Only(PagecacheLimitSize, "memory.pagecache_limit.size", INT64_MAX),
    v2Only(PagecacheLimitSync, "memory.pagecache_limit.sync", 1),
    Row{BlkioReadIops, "blkio.throttle.read_iops_device", Blkio, "", DeviceAmount, 0, INT64_MAX, 0,
        0, InKubepods},
    Row{BlkioWriteIops, "blkio.throttle.write_iops_device", Blkio, "", DeviceAmount, 0, INT64_MAX,
        0, 0, InKubepods},
    Row{BlkioReadBps, "blkio.throttle.read_bps_device", Blkio, "", DeviceAmount, 0, INT64_MAX, 0, 0,
        InKubepods},
    Row{BlkioWriteBps, "blkio.throttle.write_bps_device", Blkio, "", DeviceAmount, 0, INT64_MAX, 0,
        0, InKubepods},
    Row{BlkioCostWeight, "blkio.cost.weight", Blkio, "", DeviceAmount, 1, 100, 0, 0, InKubepods},
    Row{BlkioCostQos, "blkio.cost.qos", Blkio, "", Any, 0, 0, 0, 0, InRoot},
    Row{BlkioCostModel, "blkio.cost.model", Blkio, "", Any, 0, 0, 0, 0, InRoot},
    Row{NetClsClassId, "net_cls.classid", NetCls, "net_cls.classid", ClassId, 0, 0, 0, 0,
        InKubepods, InKubepods},
    Row{IoMax, "io.max", Blkio, "io.max", Any, 0, 0, 0, 0, InDir, InDir, false},
    Row{IoWeight, "io.weight", Blkio, "io.weight", Any, 0, 0, 0, 0, InDir, InDir, false},
};

constexpr bool inEnumOrder() {
  for (std::size_t i = 0; i < kRows.size(); ++i)
    if (static_cast<std::size_t>(kRows[i].file) != i) return false;
  return true;
}
static_assert(inEnumOrder(), "rows are found by their index");

const Row& rowOf(CgroupFile file) {
  return kRows[static_cast<std::size_t>(file)];
}

std::unexpected<Error> badValue(const Row& row, std::string_view value, std::string_view wanted) {
  return fail(ErrorCode::Invalid, fmt::format("{}: '{}' is not {}", row.name, value, wanted));
}

Result<> checkRange(const Row& row, std::string_view value, std::int64_t min, std::int64_t max) {
  std::int64_t number = kUnlimited;
  if (value != "max") {
    const auto parsed = parseInt(value);
    if (!parsed || trim(value) != value) return badValue(row, value, "an integer or 'max'");
    number = *parsed;
  }
  if (number < min || number > max)
    return badValue(row, value, fmt::format("within {}..{}", min, max));
  return {};
}

Result<> checkDeviceAmount(const Row& row, std::string_view value) {
  std::string_view rest = value;
  const auto device = takeWord(rest);
  const auto colon = device.find(':');
  const bool named = colon != std::string_view::npos && parseInt(device.substr(0, colon)) &&
                     parseInt(device.substr(colon + 1));
  if (!named) return badValue(row, value, "'<major>:<minor> <amount>'");
  return checkRange(row, trim(rest), row.min, row.max);
}

Result<> checkClassId(const Row& row, std::string_view value) {
  if (value.starts_with("0x")) {
    const auto digits = value.substr(2);
    if (!digits.empty() && digits.size() <= 8 &&
        digits.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos)
      return {};
  } else if (const auto number = parseInt(value); number && *number >= 0) {
    return {};
  }
  return badValue(row, value, "a class id: a number, or 0x and up to 8 digits");
}

// Files of block I/O have a line for each device; what is not there is not limited.
bool sameDeviceLine(std::string_view current, std::string_view encoded) {
  std::string_view wanted = encoded;
  const auto device = takeWord(wanted);
  wanted = trim(wanted);
  std::optional<bool> same;
  forEachLine(current, [&](std::string_view line) {
    if (takeWord(line) != device) return;
    same = true;
    std::string_view words = wanted;
    for (auto word = takeWord(words); !word.empty(); word = takeWord(words)) {
      std::string_view has = line;
      bool found = false;
      for (auto one = takeWord(has); !one.empty() && !found; one = takeWord(has))
        found = one == word;
      same = *same && found;
    }
  });
  return same.value_or(wanted == "0" || wanted == "rbps=max wbps=max riops=max wiops=max");
}

// cpu.max holds two numbers; quota and period each look at theirs.
std::string_view fieldOfCpuMax(CgroupFile file, std::string_view current) {
  std::string_view rest = current;
  const auto quota = takeWord(rest);
  return file == CpuCfsQuota ? quota : takeWord(rest);
}

}  // namespace

std::string_view nameOf(CgroupFile file) {
  return rowOf(file).name;
}

std::optional<CgroupFile> cgroupFileOfName(std::string_view name) {
  for (const auto& row : kRows)
    if (row.name == name) return row.file;
  return std::nullopt;
}

Subsystem subsystemOf(CgroupFile file) {
  return rowOf(file).subsystem;
}

std::string_view fileNameIn(CgroupFile file, CgroupVersion version) {
  const Row& row = rowOf(file);
  if (version == CgroupVersion::V2) return row.v2Name;
  return row.inV1 ? row.name : std::string_view{};
}

CgroupSupport supportOf(CgroupFile file, CgroupVersion version) {
  return version == CgroupVersion::V1 ? rowOf(file).v1Support : rowOf(file).v2Support;
}

Result<> validateCgroupValue(CgroupFile file, CgroupVersion version, std::string_view value) {
  const Row& row = rowOf(file);
  switch (row.values) {
    case Any:
      return {};
    case Range:
      return version == CgroupVersion::V1 ? checkRange(row, value, row.min, row.max)
                                          : checkRange(row, value, row.v2Min, row.v2Max);
    case DeviceAmount:
      return checkDeviceAmount(row, value);
    case ClassId:
      return checkClassId(row, value);
    case CpuList:
      if (!CpuSet::parse(value)) return badValue(row, value, "a CPU list such as 0-3,8");
      return {};
  }
  return {};
}

Result<std::string> encodeCgroupValue(CgroupFile file, CgroupVersion version,
                                      std::string_view value) {
  if (version == CgroupVersion::V1) return std::string(value);
  if (file == CpuShares) {
    const auto shares = parseInt(value);
    if (!shares) return fail(shares.error());
    const auto weight = sharesToWeight(*shares);
    if (!weight) return fail(weight.error());
    return fmt::format("{}", *weight);
  }
  const bool amount = file == CpuCfsQuota || file == CpuCfsPeriod || file == MemoryLimit;
  return amount && value == "-1" ? "max" : std::string(value);
}

bool sameCgroupValue(CgroupFile file, CgroupVersion version, std::string_view current,
                     std::string_view encoded) {
  current = trim(current);
  if (current == encoded) return true;
  if (file == CpusetCpus) {
    const auto before = CpuSet::parse(current);
    const auto after = CpuSet::parse(encoded);
    return before && after && *before == *after;
  }
  if (rowOf(file).values == DeviceAmount || file == IoMax || file == IoWeight)
    return sameDeviceLine(current, encoded);
  const bool cpuMax = version == CgroupVersion::V2 && (file == CpuCfsQuota || file == CpuCfsPeriod);
  if (cpuMax) current = fieldOfCpuMax(file, current);
  if (current == encoded) return true;
  // The kernel keeps amounts of memory in whole pages, rounded down.
  if (file == MemoryMin || file == MemoryLow || file == MemoryHigh || file == MemoryLimit) {
    const auto is = parseInt(current), wanted = parseInt(encoded);
    if (is && wanted && *is > 0) return *is == *wanted / pageSize() * pageSize();
  }
  return current == "max" && encoded == "9223372036854775807";
}

std::string_view deviceOf(CgroupFile file, std::string_view value) {
  const bool perDevice = rowOf(file).values == DeviceAmount || file == IoMax || file == IoWeight ||
                         file == BlkioCostQos || file == BlkioCostModel;
  return perDevice ? takeWord(value) : std::string_view{};
}

Result<> cgroupFilePath(const CgroupLayout& layout, CgroupFile file, std::string_view dir,
                        std::string& path) {
  const Subsystem subsystem = subsystemOf(file);
  const auto name = fileNameIn(file, layout.version(subsystem));
  if (name.empty())
    return fail(ErrorCode::NotFound, fmt::format("{} does not exist in cgroup v2", nameOf(file)));
  layout.dir(subsystem, dir, path);
  path += name;
  return {};
}

Result<std::string> cgroupFilePath(const CgroupLayout& layout, CgroupFile file,
                                   std::string_view dir) {
  std::string path;
  if (auto found = cgroupFilePath(layout, file, dir, path); !found) return fail(found.error());
  return path;
}

}  // namespace koord::koordlet
