#include "koordlet/collect/cold_page_collector.h"

#include <algorithm>
#include <array>

#include "base/log.h"
#include "koordlet/states/host_application.h"
#include "koordlet/system/procfs.h"
#include "koordlet/system/small_file.h"

namespace koord::koordlet {
namespace {

constexpr int kBoundary = 5;  // the first bucket of cold pages
constexpr std::string_view kScanSeconds = "5";
// File pages: clean and dirty, evictable and unevictable. No anonymous memory, no slabs.
constexpr std::array<std::string_view, 4> kKinds = {"cfei", "dfei", "cfui", "dfui"};

}  // namespace

Result<std::int64_t> coldBytesIn(std::string_view idlePageStats) {
  std::int64_t sum = 0;
  bool found = false;
  forEachLine(idlePageStats, [&](std::string_view line) {
    if (std::ranges::find(kKinds, takeWord(line)) == kKinds.end()) return;
    found = true;
    int bucket = 0;
    for (auto word = takeWord(line); !word.empty(); word = takeWord(line), ++bucket) {
      const auto bytes = parseInt(word);
      if (bucket >= kBoundary && bytes && *bytes > 0) __builtin_add_overflow(sum, *bytes, &sum);
    }
  });
  if (!found) return fail(ErrorCode::Invalid, "memory.idle_page_stats has no line of file pages");
  return std::max<std::int64_t>(sum, 0);
}

bool ColdPageCollector::start() {
  const std::string kidled = host_.dirs.sysRoot + "kernel/mm/kidled/";
  for (const auto& [file, value] :
       {std::pair("scan_period_in_seconds", kScanSeconds), {"use_hierarchy", "1"}})
    if (const auto written = writeSmallFile(kidled + file, value); !written) {
      log::info("cold memory is not measured: {}", written.error().message);
      return false;
    }
  return true;
}

std::optional<double> ColdPageCollector::coldOf(const std::string& dir) const {
  const auto path = cgroupFilePath(host_.layout, CgroupFile::MemoryIdlePageStats, dir);
  if (!path) return std::nullopt;
  const auto text = readSmallFile(*path);
  const auto bytes = text ? coldBytesIn(*text) : fail(text.error());
  if (bytes) return static_cast<double>(*bytes);
  log::v(5, "cold memory of {} not measured: {}", dir, bytes.error().message);
  return std::nullopt;
}

void ColdPageCollector::take(const std::string& dir, std::string_view subject, Metric metric) {
  const auto cold = coldOf(dir);
  const auto stat = reader_.memoryStat(dir);
  if (cold && stat)
    cache_.append(metric, subject, clock_.wallNow(),
                  std::max(static_cast<double>(stat->usageWithPageCache()) - *cold, 0.0));
}

void ColdPageCollector::collect() {
  const auto memory = readMemInfo(host_.dirs.procRoot);
  const auto cold = coldOf("");
  if (!memory || !cold) return;  // without the node's value nothing is reported
  cache_.append(Metric::NodeMemoryWithHotPages, "", clock_.wallNow(),
                std::max(static_cast<double>(memory->total - memory->free) - *cold, 0.0));
  for (const auto& pod : states_.pods())
    if (pod.active()) take(pod.dir, pod.uid(), Metric::PodMemoryWithHotPages);
  if (states_.slo())
    for (const auto& application : states_.slo()->hostApplications)
      if (const auto dir = hostApplicationDir(application, host_.driver); !dir.empty())
        take(dir, application.name, Metric::HostAppMemoryWithHotPages);
  reader_.closeUnused();
}

}  // namespace koord::koordlet
