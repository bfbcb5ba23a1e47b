#include "koordlet/system/procfs.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/cpuset.h"
#include "base/split.h"
#include "koordlet/system/small_file.h"

namespace koord::koordlet {
namespace {

// user nice system idle iowait irq softirq: a sum of fields 0, 1, 2, 5 and 6.
Result<std::int64_t> busyTicks(std::string_view fields) {
  std::int64_t sum = 0;
  for (int i = 0; i < 7; ++i) {
    const auto value = parseInt(takeWord(fields));
    if (!value) return fail(value.error());
    if (i != 3 && i != 4) sum += *value;
  }
  return sum;
}

// The value of --name=value or --name value in a command line whose words end in NUL.
std::string argumentOf(std::string_view cmdline, std::string_view name) {
  bool next = false;
  while (!cmdline.empty()) {
    const auto end = cmdline.find('\0');
    std::string_view word = cmdline.substr(0, end);
    cmdline.remove_prefix(end == std::string_view::npos ? cmdline.size() : end + 1);
    if (next) return std::string(word);
    while (word.starts_with('-')) word.remove_prefix(1);
    if (!word.starts_with(name)) continue;
    word.remove_prefix(name.size());
    if (word.starts_with('=')) return std::string(word.substr(1));
    next = word.empty();
  }
  return {};
}

std::string driverInConfig(const std::string& path) {
  std::string driver;
  const auto text = readSmallFile(path);
  if (!text) return driver;
  forEachLine(*text, [&](std::string_view line) {
    constexpr std::string_view kKey = "cgroupDriver:";
    if (!line.starts_with(kKey)) return;
    line = trim(line.substr(kKey.size()));
    while (line.starts_with('"') || line.starts_with('\'')) line.remove_prefix(1);
    driver = line.substr(0, line.find_first_of("\"' #"));
  });
  return driver;
}

constexpr std::int64_t kKib2Mi = 2048, kKib1Gi = 1 << 20;
constexpr std::int64_t kLargestMemory = std::int64_t{1} << 42;  // KiB; more is garbage

bool isPlausible(std::int64_t kib) {
  return kib >= 0 && kib <= kLargestMemory;
}

std::string zoneDir(const HostDirs& dirs, int node) {
  return fmt::format("{}devices/system/node/node{}", dirs.sysRoot, node);
}

// NUMA nodes that are the memory of a device, as on Grace Hopper.
CpuSet deviceNodes(const HostDirs& dirs) {
  const auto text = readSmallFile(dirs.sysRoot + "devices/system/node/has_generic_initiator");
  return text ? CpuSet::parse(trim(*text)).value_or(CpuSet{}) : CpuSet{};
}

// Calls fn(key, bytes) for lines like "Node 0 MemTotal:  65 kB".
template <class Fn>
void forEachZoneLine(std::string_view text, Fn fn) {
  forEachLine(text, [&](std::string_view line) {
    takeWord(line);
    takeWord(line);
    const auto key = takeWord(line);
    if (const auto kib = parseInt(takeWord(line)); kib && isPlausible(*kib)) fn(key, *kib * 1024);
  });
}

// "hugepages-2048kB" -> 2048; 0 for other names.
std::int64_t hugePageKib(std::string_view name) {
  constexpr std::string_view kPrefix = "hugepages-", kSuffix = "kB";
  if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix)) return 0;
  name.remove_prefix(kPrefix.size());
  name.remove_suffix(kSuffix.size());
  return parseInt(name).value_or(0);
}

}  // namespace

std::int64_t ticksPerSecond() {
  const long ticks = ::sysconf(_SC_CLK_TCK);
  return ticks > 0 ? ticks : 100;
}

std::int64_t pageSize() {
  static const long size = ::sysconf(_SC_PAGESIZE);
  return size > 0 ? size : 4096;
}

Result<> readCpuTicks(const std::string& procRoot, CpuTicks& ticks, std::string& text) {
  static thread_local std::string path;  // read every second: keeps its memory
  path.assign(procRoot).append("stat");
  if (auto read = readSmallFile(path, text); !read) return read;
  ticks.perCpu.clear();
  Result<> outcome;
  bool found = false;
  forEachLine(text, [&](std::string_view line) {
    if (!line.starts_with("cpu")) return;
    const std::string_view name = takeWord(line);
    const auto busy = busyTicks(line);
    const auto cpu = name == "cpu" ? Result<std::int64_t>(-1) : parseInt(name.substr(3));
    if (!busy || !cpu) {
      outcome = fail(ErrorCode::Invalid,
                     fmt::format("{}: line '{}{}' is not a CPU's times", path, name, line));
    } else if (*cpu < 0) {
      ticks.total = *busy;
      found = true;
    } else {
      ticks.perCpu.emplace_back(static_cast<int>(*cpu), *busy);
    }
  });
  if (outcome && !found) return fail(ErrorCode::Invalid, fmt::format("{}: no line 'cpu'", path));
  return outcome;
}

Result<CpuTicks> readCpuTicks(const std::string& procRoot) {
  CpuTicks ticks;
  std::string text;
  if (auto read = readCpuTicks(procRoot, ticks, text); !read) return fail(std::move(read.error()));
  return ticks;
}

Result<MemInfo> readMemInfo(const std::string& procRoot, std::string& text) {
  static thread_local std::string path;
  path.assign(procRoot).append("meminfo");
  if (auto read = readSmallFile(path, text); !read) return fail(std::move(read.error()));
  MemInfo info;
  int found = 0;
  forEachLine(text, [&](std::string_view line) {
    const auto key = takeWord(line);
    std::int64_t* field = key == "MemTotal:"       ? &info.total
                          : key == "MemAvailable:" ? &info.available
                          : key == "MemFree:"      ? &info.free
                                                   : nullptr;
    if (!field) return;
    if (const auto kib = parseInt(takeWord(line)); kib && isPlausible(*kib)) {
      *field = *kib * 1024;
      ++found;
    }
  });
  if (found != 3)
    return fail(ErrorCode::Invalid,
                fmt::format("{}: MemTotal, MemFree or MemAvailable is missing", path));
  return info;
}

Result<MemInfo> readMemInfo(const std::string& procRoot) {
  static thread_local std::string text;
  return readMemInfo(procRoot, text);
}

Result<std::vector<ZoneMemory>> readZoneMemory(const HostDirs& dirs) {
  std::vector<ZoneMemory> zones;
  const CpuSet ofDevices = deviceNodes(dirs);
  for (;;) {
    const std::string dir = zoneDir(dirs, static_cast<int>(zones.size()));
    if (!pathExists(dir) || ofDevices.contains(static_cast<int>(zones.size()))) break;
    const auto text = readSmallFile(dir + "/meminfo");
    if (!text && text.error().code == ErrorCode::NotFound) break;
    if (!text) return fail(text.error());
    ZoneMemory zone;
    zone.total = -1;
    forEachZoneLine(*text, [&](std::string_view key, std::int64_t bytes) {
      if (key == "MemTotal:") zone.total = bytes;
    });
    if (zone.total < 0) return fail(ErrorCode::Invalid, dir + "/meminfo: no MemTotal");
    std::int64_t huge = 0;
    for (const auto& name : listDirs(dir + "/hugepages")) {
      const std::int64_t kib = hugePageKib(name);
      const auto pages = readSmallFile(fmt::format("{}/hugepages/{}/nr_hugepages", dir, name));
      const auto count = pages ? parseInt(*pages) : Result<std::int64_t>(0);
      if (!count || *count < 0 || kib <= 0 || *count > kLargestMemory / kib) continue;
      if (kib == kKib2Mi) zone.hugePages2Mi = kib * *count * 1024;
      if (kib == kKib1Gi) zone.hugePages1Gi = kib * *count * 1024;
      huge += kib * *count * 1024;
    }
    zone.total = std::max<std::int64_t>(zone.total - huge, 0);
    zones.push_back(zone);
  }
  if (!zones.empty()) return zones;
  const auto memory = readMemInfo(dirs.procRoot);
  if (!memory) return fail(memory.error());
  return std::vector<ZoneMemory>{{memory->total, 0, 0}};
}

Result<std::int64_t> readZoneUsed(const HostDirs& dirs, int node, std::string& text) {
  const std::string path = zoneDir(dirs, node) + "/meminfo";
  if (auto read = readSmallFile(path, text); !read) return fail(std::move(read.error()));
  std::int64_t total = -1, available = 0;
  forEachZoneLine(text, [&](std::string_view key, std::int64_t bytes) {
    if (key == "MemTotal:") total = bytes;
    for (const auto* name : {"MemFree:", "Active(file):", "Inactive(file):", "SReclaimable:"})
      if (key == name) available += bytes;
  });
  if (total < 0) return fail(ErrorCode::Invalid, path + ": no MemTotal");
  return std::max<std::int64_t>(total - available, 0);
}

Result<std::string> cgroupDriverOfKubelet(const std::string& procRoot) {
  for (const auto& pid : listDirs(procRoot)) {
    if (pid.find_first_not_of("0123456789") != std::string::npos) continue;
    const auto name = readSmallFile(fmt::format("{}{}/comm", procRoot, pid));
    if (!name || *name != "kubelet") continue;
    const auto cmdline = readSmallFile(fmt::format("{}{}/cmdline", procRoot, pid));
    if (!cmdline) continue;
    std::string driver = argumentOf(*cmdline, "cgroup-driver");
    if (driver.empty()) driver = driverInConfig(argumentOf(*cmdline, "config"));
    return driver.empty() ? "cgroupfs" : driver;
  }
  return fail(ErrorCode::NotFound, "no kubelet process found");
}

}  // namespace koord::koordlet
