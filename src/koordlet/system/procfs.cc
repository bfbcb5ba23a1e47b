#include "koordlet/system/procfs.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>

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

}  // namespace

std::int64_t ticksPerSecond() {
  const long ticks = ::sysconf(_SC_CLK_TCK);
  return ticks > 0 ? ticks : 100;
}

Result<CpuTicks> readCpuTicks(const std::string& procRoot) {
  const std::string path = procRoot + "stat";
  const auto text = readSmallFile(path);
  if (!text) return fail(text.error());
  CpuTicks ticks;
  Result<> outcome;
  bool found = false;
  forEachLine(*text, [&](std::string_view line) {
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
  if (!outcome) return fail(std::move(outcome.error()));
  if (!found) return fail(ErrorCode::Invalid, fmt::format("{}: no line 'cpu'", path));
  return ticks;
}

Result<MemInfo> readMemInfo(const std::string& procRoot) {
  const std::string path = procRoot + "meminfo";
  const auto text = readSmallFile(path);
  if (!text) return fail(text.error());
  MemInfo info;
  int found = 0;
  forEachLine(*text, [&](std::string_view line) {
    const auto key = takeWord(line);
    std::int64_t* field = key == "MemTotal:"       ? &info.total
                          : key == "MemAvailable:" ? &info.available
                          : key == "MemFree:"      ? &info.free
                                                   : nullptr;
    if (!field) return;
    if (const auto kib = parseInt(takeWord(line))) {
      *field = *kib * 1024;
      ++found;
    }
  });
  if (found != 3)
    return fail(ErrorCode::Invalid,
                fmt::format("{}: MemTotal, MemFree and MemAvailable are not all there", path));
  return info;
}

Result<std::vector<std::int64_t>> readZoneMemory(const HostDirs& dirs) {
  const std::string base = dirs.sysRoot + "devices/system/node/";
  std::vector<std::int64_t> zones;
  for (;;) {
    const std::string dir = fmt::format("{}node{}", base, zones.size());
    const auto text = readSmallFile(dir + "/meminfo");
    if (!text && text.error().code == ErrorCode::NotFound) break;
    if (!text) return fail(text.error());
    std::int64_t bytes = -1;
    forEachLine(*text, [&](std::string_view line) {  // "Node 0 MemTotal:  65 kB"
      takeWord(line);
      takeWord(line);
      if (takeWord(line) != "MemTotal:") return;
      if (const auto kib = parseInt(takeWord(line))) bytes = *kib * 1024;
    });
    if (bytes < 0) return fail(ErrorCode::Invalid, dir + "/meminfo: no MemTotal");
    for (const auto& size : listDirs(dir + "/hugepages")) {  // "hugepages-2048kB"
      const auto kib =
          parseInt(std::string_view(size)
                       .substr(0, size.size() - 2)
                       .substr(std::min(size.size() - 2, std::string_view("hugepages-").size())));
      const auto pages = readSmallFile(fmt::format("{}/hugepages/{}/nr_hugepages", dir, size));
      const auto count = pages ? parseInt(*pages) : Result<std::int64_t>(0);
      if (kib && count) bytes -= *kib * 1024 * *count;
    }
    zones.push_back(std::max<std::int64_t>(bytes, 0));
  }
  if (!zones.empty()) return zones;
  const auto memory = readMemInfo(dirs.procRoot);
  if (!memory) return fail(memory.error());
  return std::vector<std::int64_t>{memory->total};
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
