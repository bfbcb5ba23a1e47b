#include "koordlet/collect/cpi_collector.h"

#include <algorithm>

#include "base/log.h"

namespace koord::koordlet {

CpiCollector::CpiCollector(const Host& host, const Clock& clock, const States& states,
                           MetricCache& cache, Metrics& metrics, std::size_t atOnce, Open open)
    : host_(host),
      clock_(clock),
      states_(states),
      cache_(cache),
      metrics_(metrics),
      atOnce_(std::max<std::size_t>(atOnce, 1)),
      open_(std::move(open)) {}

std::vector<std::pair<Metrics::Subject, std::string>> CpiCollector::containers() const {
  std::vector<std::pair<Metrics::Subject, std::string>> all;
  for (const auto& pod : states_.pods())
    for (const auto& container : pod.containers)
      if (pod.active() && container.running && !container.dir.empty())
        all.push_back({{pod.uid(), pod.pod->metadata.name, pod.pod->metadata.namespace_,
                        container.id, container.name},
                       container.dir});
  std::ranges::sort(all, {}, [](const auto& one) { return one.first.containerId; });
  return all;
}

void CpiCollector::begin() {
  counted_.clear();
  if (!host_.topology) return;
  auto all = containers();
  const auto first = std::ranges::lower_bound(
      all, next_, {}, [](const auto& one) { return one.first.containerId; });
  std::ranges::rotate(all, first);
  const CpuSet cpus = host_.topology->all();
  const std::size_t count = std::min(all.size(), atOnce_);
  for (std::size_t i = 0; i < count; ++i) {
    auto counters = open_(host_.layout.dir(Subsystem::PerfEvent, all[i].second), cpus);
    if (!counters) {
      problem_ = counters.error().message;
      log::v(4, "no cycles counted: {}", problem_);
      continue;
    }
    problem_.clear();
    counted_.push_back({std::move(all[i].first), *std::move(counters)});
  }
  next_ = count < all.size() ? all[count].first.containerId : std::string();
}

void CpiCollector::end() {
  const WallTime now = clock_.wallNow();
  metrics_.resetCpi();
  for (auto& one : counted_) {
    const auto work = one.counters->read();
    if (!work) {
      log::v(4, "cycles of container {} not read: {}", one.who.containerName, work.error().message);
      continue;
    }
    cache_.append(Metric::ContainerCycles, one.who.containerId, now, work->cycles);
    cache_.append(Metric::ContainerInstructions, one.who.containerId, now, work->instructions);
    metrics_.cpi(one.who, work->cycles, work->instructions);
  }
  counted_.clear();
}

}  // namespace koord::koordlet
