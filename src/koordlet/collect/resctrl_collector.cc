#include "koordlet/collect/resctrl_collector.h"

#include <fmt/core.h>

#include "koordlet/system/resctrl.h"
#include "koordlet/system/small_file.h"

namespace koord::koordlet {
namespace {

constexpr std::string_view kCachePrefix = "mon_L3_";

// The kernel writes "Unavailable" or "Error" if the hardware cannot count at the moment.
std::optional<std::int64_t> numberIn(const std::string& path) {
  const auto text = readSmallFile(path);
  const auto number = text ? parseInt(*text) : fail(text.error());
  if (!number || *number < 0) return std::nullopt;
  return *number;
}

}  // namespace

void ResctrlCollector::collectCache(const std::string& group, const std::string& directory) {
  // mon_L3_00: the cache's id, with a leading zero.
  const auto id = parseInt(
      std::string_view(directory).substr(directory.rfind(kCachePrefix) + kCachePrefix.size()));
  if (!id) return;
  const std::string cache = std::to_string(*id);
  if (const auto bytes = numberIn(directory + "/llc_occupancy"))
    metrics_.cacheOccupancy(group, cache, static_cast<double>(*bytes));
  for (const auto* type : {"mbm_local_bytes", "mbm_total_bytes"}) {
    const std::string file = fmt::format("{}/{}", directory, type);
    const auto counter = numberIn(file);
    if (!counter) continue;
    if (const auto delta = rates_.take(file, *counter, clock_.steadyNow()))
      metrics_.memoryBandwidth(
          group, cache, type,
          static_cast<double>(delta->amount) * 1e9 / static_cast<double>(delta->elapsed.count()));
  }
}

void ResctrlCollector::collect() {
  metrics_.resetMonitoring();
  for (const auto* group : {"LSR", "LS", "BE"}) {
    const std::string data = fmt::format("{}{}/mon_data/", resctrl::rootDir(host_.dirs), group);
    for (const auto& name : listDirs(data))
      if (name.starts_with(kCachePrefix)) collectCache(group, data + name);
  }
  rates_.collectGarbage(clock_.steadyNow());
}

}  // namespace koord::koordlet
