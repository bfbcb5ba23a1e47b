#include "koordlet/system/cpu_topology.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "base/split.h"
#include "koordlet/system/procfs.h"
#include "koordlet/system/small_file.h"

namespace koord::koordlet {
namespace {

std::optional<int> readInt(const std::string& path) {
  if (!pathExists(path)) return std::nullopt;  // common, and cheaper than an error
  const auto text = readSmallFile(path);
  if (!text) return std::nullopt;
  const auto value = parseInt(*text);
  if (!value) return std::nullopt;
  return static_cast<int>(*value);
}

// The kernel's ids may have gaps and repeat per socket; ours count up in the order of the CPUs.
template <class Key>
class Numbering {
 public:
  int of(const Key& key) {
    return numbers_.emplace(key, static_cast<int>(numbers_.size())).first->second;
  }

 private:
  std::map<Key, int> numbers_;
};

std::map<int, int> nodeOfCpus(const std::string& sysRoot) {
  std::map<int, int> nodes;
  const std::string dir = sysRoot + "devices/system/node/";
  for (const auto& name : listDirs(dir)) {
    if (!name.starts_with("node")) continue;
    const auto node = parseInt(std::string_view(name).substr(4));
    const auto text = readSmallFile(fmt::format("{}{}/cpulist", dir, name));
    if (!node || !text) continue;
    const auto cpus = CpuSet::parse(trim(*text));
    if (!cpus) continue;
    for (const int cpu : cpus->toVector()) nodes[cpu] = static_cast<int>(*node);
  }
  return nodes;
}

std::optional<CpuTopology> fromSys(const HostDirs& dirs) {
  const std::string dir = dirs.sysRoot + "devices/system/cpu/";
  const auto onlineText = readSmallFile(dir + "online");
  if (!onlineText) return std::nullopt;
  const auto online = CpuSet::parse(trim(*onlineText));
  if (!online) return std::nullopt;
  const auto nodes = nodeOfCpus(dirs.sysRoot);
  CpuTopology topology;
  Numbering<int> sockets;
  Numbering<std::pair<int, int>> cores;
  Numbering<std::pair<int, int>> caches;
  for (const int cpu : online->toVector()) {
    const std::string one = fmt::format("{}cpu{}/", dir, cpu);
    const auto package = readInt(one + "topology/physical_package_id");
    const auto core = readInt(one + "topology/core_id");
    if (!package || !core) continue;
    const auto node = nodes.find(cpu);
    CpuPlace place;
    place.cpu = cpu;
    place.socket = sockets.of(*package);
    place.core = cores.of({*package, *core});
    place.l3 = caches.of({*package, readInt(one + "cache/index3/id").value_or(0)});
    place.node = node == nodes.end() ? 0 : node->second;
    topology.cpus.push_back(place);
  }
  if (topology.cpus.empty()) return std::nullopt;
  return topology;
}

std::optional<CpuTopology> fromCpuInfo(const HostDirs& dirs) {
  const auto text = readSmallFile(dirs.procRoot + "cpuinfo");
  if (!text) return std::nullopt;
  struct Ids {
    int package = 0;
    std::optional<int> core;
  };
  std::map<int, Ids> cpus;
  Ids* current = nullptr;
  forEachLine(*text, [&](std::string_view line) {
    const auto colon = line.find(':');
    if (colon == std::string_view::npos) return;
    const auto key = trim(line.substr(0, colon));
    const auto value = parseInt(line.substr(colon + 1));
    if (!value) return;
    if (key == "processor") current = &cpus[static_cast<int>(*value)];
    if (key == "physical id" && current) current->package = static_cast<int>(*value);
    if (key == "core id" && current) current->core = static_cast<int>(*value);
  });
  if (cpus.empty()) return std::nullopt;
  CpuTopology topology;
  Numbering<int> sockets;
  Numbering<std::pair<int, int>> cores;
  for (const auto& [cpu, ids] : cpus) {
    CpuPlace place;
    place.cpu = cpu;
    place.socket = sockets.of(ids.package);
    place.core = cores.of({ids.package, ids.core.value_or(cpu)});
    place.node = place.l3 = place.socket;
    topology.cpus.push_back(place);
  }
  return topology;
}

std::optional<CpuTopology> fromStat(const HostDirs& dirs) {
  const auto ticks = readCpuTicks(dirs.procRoot);
  if (!ticks || ticks->perCpu.empty()) return std::nullopt;
  CpuTopology topology;
  for (const auto& [cpu, busy] : ticks->perCpu) topology.cpus.push_back({cpu, cpu, 0, 0, 0});
  return topology;
}

}  // namespace

CpuSet CpuTopology::all() const {
  std::vector<int> ids;
  ids.reserve(cpus.size());
  for (const auto& place : cpus) ids.push_back(place.cpu);
  return CpuSet::of(ids);
}

Result<CpuTopology> readCpuTopology(const HostDirs& dirs) {
  auto topology = fromSys(dirs);
  if (!topology) topology = fromCpuInfo(dirs);
  if (!topology) topology = fromStat(dirs);
  if (!topology)
    return fail(ErrorCode::NotFound,
                fmt::format("no CPUs found in {}devices/system/cpu, {}cpuinfo or {}stat",
                            dirs.sysRoot, dirs.procRoot, dirs.procRoot));
  // A file that names a CPU twice is damaged; its first place counts.
  std::ranges::stable_sort(topology->cpus, {}, &CpuPlace::cpu);
  const auto repeated = std::ranges::unique(topology->cpus, {}, &CpuPlace::cpu);
  topology->cpus.erase(repeated.begin(), repeated.end());
  std::ranges::sort(topology->cpus, {}, [](const CpuPlace& place) {
    return std::tuple(place.node, place.socket, place.core, place.cpu);
  });
  return *std::move(topology);
}

CpuBasicInfo readCpuBasicInfo(const HostDirs& dirs) {
  CpuBasicInfo info;
  if (const auto text = readSmallFile(dirs.procRoot + "cpuinfo")) {
    forEachLine(*text, [&](std::string_view line) {
      const auto colon = line.find(':');
      if (colon == std::string_view::npos) return;
      const auto key = trim(line.substr(0, colon));
      const auto value = trim(line.substr(colon + 1));
      if (key == "model name" && info.model.empty()) info.model = value;
      if (key == "vendor_id" && info.vendor.empty()) info.vendor = value;
    });
  }
  info.hyperThreading = readInt(dirs.sysRoot + "devices/system/cpu/smt/active").value_or(0) == 1;
  info.turbo = readInt(dirs.sysRoot + "devices/system/cpu/intel_pstate/no_turbo").value_or(1) == 0;
  if (const std::string path = dirs.sysFsRoot + "resctrl/info/L3/cbm_mask"; pathExists(path))
    if (const auto mask = readSmallFile(path)) info.l3WaysMask = trim(*mask);
  return info;
}

}  // namespace koord::koordlet
