#include "koordlet/collect/numa_collector.h"

#include <algorithm>
#include <numeric>

#include "base/log.h"

// A NUMA node's CPU usage is the sum of the ticks of its CPUs. Its memory usage, and that of its
// pods, is without page cache, as far as the NUMA node's meminfo says; the system's part is the
// difference. The system's CPU usage is divided in proportion to the NUMA nodes' CPU usage, because
// cgroups do not count CPU time by NUMA node.

namespace koord::koordlet {
namespace {

using namespace std::chrono_literals;

constexpr Duration kBetween = 10s;
constexpr int kAtOnce = 2;  // the base and the first sample do not wait for kBetween

}  // namespace

NumaCollector::NumaCollector(const Host& host, const Clock& clock, const States& states,
                             MetricCache& cache, Duration interval)
    : host_(host),
      clock_(clock),
      states_(states),
      cache_(cache),
      interval_(interval),
      reader_(host.layout),
      rates_(kBetween * 6) {}

bool NumaCollector::due() {
  const SteadyTime now = clock_.steadyNow();
  if (at_ && samples_ >= kAtOnce && now - *at_ < kBetween) return false;
  at_ = now;
  samples_ = std::min(samples_ + 1, kAtOnce);
  return true;
}

void NumaCollector::collect() {
  if (!host_.topology || !due()) return;
  int nodes = 0;
  for (const auto& place : host_.topology->cpus) nodes = std::max(nodes, place.node + 1);
  while (names_.size() < static_cast<std::size_t>(nodes))
    names_.push_back(std::to_string(names_.size()));
  names_.resize(static_cast<std::size_t>(nodes));
  shareSystemCpu(collectCpu());
  collectMemory(names_.size());
  reader_.closeUnused();
}

std::vector<double> NumaCollector::collectCpu() {
  if (auto read = readCpuTicks(host_.dirs.procRoot, ticks_, text_); !read) {
    log::v(4, "cpu of NUMA nodes not measured: {}", read.error().message);
    return {};
  }
  std::vector<std::int64_t> busy(names_.size());
  for (const auto& [cpu, ticks] : ticks_.perCpu) {
    const auto place = std::ranges::find(host_.topology->cpus, cpu, &CpuPlace::cpu);
    if (place != host_.topology->cpus.end()) busy[static_cast<std::size_t>(place->node)] += ticks;
  }
  std::vector<double> cores;
  const SteadyTime now = clock_.steadyNow();
  const double tick = 1e9 / static_cast<double>(ticksPerSecond());
  for (std::size_t node = 0; node < busy.size(); ++node)
    if (const auto delta = rates_.take(names_[node], busy[node], now)) {
      cores.push_back(static_cast<double>(delta->amount) * tick /
                      static_cast<double>(delta->elapsed.count()));
      cache_.append(Metric::NumaCpu, names_[node], clock_.wallNow(), cores.back());
    }
  return cores;
}

void NumaCollector::shareSystemCpu(const std::vector<double>& cores) {
  const WallTime now = clock_.wallNow();
  const auto system = cache_.last(Metric::SystemCpu, "", now - 2 * interval_, now);
  if (!system || cores.empty() || cores.size() != names_.size()) return;
  const double sum = std::accumulate(cores.begin(), cores.end(), 0.0);
  for (std::size_t node = 0; node < cores.size(); ++node)
    cache_.append(Metric::NumaSystemCpu, names_[node], now,
                  sum > 0 ? *system * cores[node] / sum : 0);
}

const std::vector<std::int64_t>* NumaCollector::memoryOfPods(std::size_t nodes) {
  if (!states_.podsSynced()) return nullptr;
  podBytes_.assign(nodes, 0);
  for (const auto& pod : states_.pods()) {
    if (!pod.active()) continue;
    if (const auto added = reader_.addMemoryByNode(pod.dir, podBytes_); !added)
      log::v(5, "memory of {} by NUMA node not measured: {}", pod.dir, added.error().message);
  }
  return &podBytes_;
}

void NumaCollector::collectMemory(std::size_t nodes) {
  const auto* pods = memoryOfPods(nodes);
  for (std::size_t node = 0; node < nodes; ++node) {
    const auto used = readZoneUsed(host_.dirs, static_cast<int>(node), text_);
    if (!used) {
      log::v(4, "memory of NUMA node {} not measured: {}", node, used.error().message);
      continue;
    }
    const WallTime now = clock_.wallNow();
    cache_.append(Metric::NumaMemory, names_[node], now, static_cast<double>(*used));
    if (pods)
      cache_.append(Metric::NumaSystemMemory, names_[node], now,
                    static_cast<double>(std::max<std::int64_t>(*used - (*pods)[node], 0)));
  }
}

}  // namespace koord::koordlet
