#include "koordlet/collect/collector.h"

#include <algorithm>

#include "base/log.h"
#include "koordlet/states/host_application.h"
#include "koordlet/system/conversions.h"
#include "model/pod_requests.h"
#include "model/well_known.h"

// Usage is the difference of two readings of a counter over the time between them, by this
// process's clock. A counter's first reading gives no sample. A counter that goes back, because its
// cgroup was removed and created again, starts again. All samples of a round have the time of its
// beginning, and all readings of a step the time of the step: rounds are a second apart, and
// reading takes milliseconds.
//
// The node's CPU comes from /proc/stat, that of pods from their cgroups. Both are in nanoseconds of
// CPU per nanosecond, which is cores. System usage is the node's usage less that of pods and host
// applications. It is computed only if all of these are known: without the pods, all usage would
// count as the system's, and BE pods would be suppressed for no reason.
//
// The limit of BE pods (BeCpuRealLimit) is the smallest of their limits: the CPUs of their QoS
// cgroup, the CPUs of their containers, and the quota.
//
// Cost: a few files per pod and container each second. They stay open and are read again
// (open_files.h).

namespace koord::koordlet {
namespace {

using namespace std::chrono_literals;

double coresOf(const RateKeeper::Delta& delta, double nsPerCount) {
  return static_cast<double>(delta.amount) * nsPerCount /
         static_cast<double>(delta.elapsed.count());
}

// Milli-cores of batch-cpu that BE pods request.
std::int64_t batchRequest(const std::vector<PodView>& pods) {
  Quantity sum;
  for (const auto& view : pods) {
    if (!view.bestEffort() || !view.active()) continue;
    sum.add(model::runningRequest(view.pod->spec, model::kBatchCpu));
  }
  return sum.value();
}

}  // namespace

const Collector::Usage Collector::kPod{Metric::PodCpu, Metric::PodMemory,
                                       Metric::PodMemoryWithPageCache, Metric::PodThrottled};
const Collector::Usage Collector::kContainer{Metric::ContainerCpu, Metric::ContainerMemory,
                                             Metric::ContainerMemoryWithPageCache,
                                             Metric::ContainerThrottled};

Collector::Collector(Host& host, const Clock& clock, const States& states, MetricCache& cache,
                     Metrics& metrics, CollectorOptions options)
    : host_(host),
      clock_(clock),
      states_(states),
      cache_(cache),
      metrics_(metrics),
      options_(options),
      reader_(host.layout),
      ticksPerSecond_(ticksPerSecond()),
      nodeCpu_(options.interval * 20),
      cgroupCpu_(options.interval * 20),
      throttling_(options.interval * 20) {}

void Collector::collectDemand() {
  wall_ = clock_.wallNow();
  steady_ = clock_.steadyNow();
  refreshCpuInfo();
  collectNode();
  for (const auto& view : states_.pods())
    if (view.active()) collectCpu(view.dir, view.uid(), kPod);
  collectHostApplicationsCpu();
}

void Collector::collectRest() {
  steady_ = clock_.steadyNow();  // CPU suppress may have run since collectDemand()
  for (const auto& view : states_.pods()) {
    if (!view.active()) continue;
    collectMemory(view.dir, view.uid(), kPod);
    for (const auto& container : view.containers) {
      if (container.dir.empty() || !container.running) continue;
      collectCpu(container.dir, container.id, kContainer);
      collectMemory(container.dir, container.id, kContainer);
    }
  }
  collectBestEffort();
  collectHostApplications();
  collectSystem();
  if (steady_ - collectedGarbage_ > 1min) {
    collectedGarbage_ = steady_;
    cache_.collectGarbage(wall_);
    reader_.closeUnused();
    cgroupCpu_.collectGarbage(steady_);
    throttling_.collectGarbage(steady_);
  }
}

void Collector::refreshCpuInfo() {
  if (cpuInfoAt_ && steady_ - *cpuInfoAt_ < options_.cpuInfoInterval) return;
  cpuInfoAt_ = steady_;
  auto topology = readCpuTopology(host_.dirs);
  metrics_.nodeCpuInfo(topology.has_value());
  metrics_.nodeNumaInfo(readZoneMemory(host_.dirs).has_value());
  if (topology) {
    host_.topology = *std::move(topology);
  } else {
    log::warn("cannot read the CPUs, the last known stay in use: {}", topology.error().message);
  }
}

void Collector::collectNode() {
  const auto ticks = readCpuTicks(host_.dirs.procRoot, ticks_, text_);
  const auto memory = readMemInfo(host_.dirs.procRoot, text_);
  if (!ticks) log::v(4, "node cpu not measured: {}", ticks.error().message);
  if (!memory) log::v(4, "node memory not measured: {}", memory.error().message);
  std::optional<double> cores;
  if (ticks)
    if (const auto delta = nodeCpu_.take("", ticks_.total, steady_))
      cores = coresOf(*delta, 1e9 / static_cast<double>(ticksPerSecond_));
  if (cores) cache_.append(Metric::NodeCpu, "", wall_, *cores);
  if (memory) {
    cache_.append(Metric::NodeMemory, "", wall_, static_cast<double>(memory->used()));
    cache_.append(Metric::NodeMemoryWithPageCache, "", wall_,
                  static_cast<double>(memory->total - memory->free));
  }
  if (cores && memory) {
    metrics_.nodeUsage(*cores, static_cast<double>(memory->used()));
    nodeReady_ = true;
  }
}

void Collector::collectCpu(const std::string& dir, std::string_view subject, const Usage& usage) {
  const auto cpu = reader_.cpu(dir);
  if (cpu.usageNs) {
    if (const auto delta = cgroupCpu_.take(dir, *cpu.usageNs, steady_))
      cache_.append(usage.cpu, subject, wall_, coresOf(*delta, 1));
  } else {
    log::v(5, "cpu of {} not measured: {}", dir, cpu.usageNs.error().message);
  }
  if (cpu.throttling) takeThrottling(dir, subject, usage.throttled, *cpu.throttling);
}

void Collector::collectMemory(const std::string& dir, std::string_view subject,
                              const Usage& usage) {
  if (const auto stat = reader_.memoryStat(dir)) {
    cache_.append(usage.memory, subject, wall_, static_cast<double>(stat->usage()));
    if (options_.pageCache)
      cache_.append(usage.memoryWithPageCache, subject, wall_,
                    static_cast<double>(stat->usageWithPageCache()));
  } else {
    log::v(5, "memory of {} not measured: {}", dir, stat.error().message);
  }
}

void Collector::takeThrottling(const std::string& dir, std::string_view subject, Metric metric,
                               const CpuThrottling& counts) {
  const auto delta = throttling_.take(dir, {counts.periods, counts.throttledPeriods}, steady_);
  if (!delta) return;
  const auto [periods, throttled] = delta->amounts;
  const double ratio =
      periods == 0 ? 0 : static_cast<double>(throttled) / static_cast<double>(periods);
  cache_.append(metric, subject, wall_, ratio);
}

void Collector::collectBestEffort() {
  const std::string& dir = host_.besteffort();
  if (const auto ns = reader_.cpuUsageNs(dir))
    if (const auto delta = cgroupCpu_.take(dir, *ns, steady_)) {
      const double cores = coresOf(*delta, 1);
      cache_.append(Metric::BeCpuUsage, "", wall_, cores * 1000);
      metrics_.beSuppressBeUsed(cores);
    }
  if (states_.podsSynced())
    cache_.append(Metric::BeCpuRequest, "", wall_,
                  static_cast<double>(batchRequest(states_.pods())));

  std::optional<std::int64_t> limit;
  const auto tighten = [&](std::int64_t milli) { limit = std::min(limit.value_or(milli), milli); };
  const auto tightenByCpuset = [&](const std::string& where) {
    const auto cpus = reader_.cpuset(where);
    if (cpus && !cpus->empty()) tighten(std::int64_t{1000} * cpus->size());
  };
  tightenByCpuset(dir);
  for (const auto& view : states_.pods())
    if (view.kubeQos == KubeQos::BestEffort)
      for (const auto& container : view.containers)
        if (container.running && !container.dir.empty()) tightenByCpuset(container.dir);
  const auto quota = reader_.cfsQuotaUs(dir);
  const auto period = reader_.cfsPeriodUs(dir);
  if (quota && period && *quota > 0 && *period > 0) tighten(*quota * 1000 / *period);
  if (limit) cache_.append(Metric::BeCpuRealLimit, "", wall_, static_cast<double>(*limit));
}

void Collector::collectHostApplicationsCpu() {
  if (!states_.slo()) return;
  for (const auto& application : states_.slo()->hostApplications) {
    const std::string dir = hostApplicationDir(application, host_.driver);
    if (dir.empty()) continue;
    const auto ns = reader_.cpuUsageNs(dir);
    if (!ns) continue;
    if (const auto delta = cgroupCpu_.take(dir, *ns, steady_))
      cache_.append(Metric::HostAppCpu, application.name, wall_, coresOf(*delta, 1));
  }
}

void Collector::collectHostApplications() {
  if (!states_.slo()) return;
  metrics_.resetHostApplications();
  for (const auto& application : states_.slo()->hostApplications) {
    const std::string dir = hostApplicationDir(application, host_.driver);
    if (dir.empty()) continue;
    const auto stat = reader_.memoryStat(dir);
    const auto cores = cache_.last(Metric::HostAppCpu, application.name, wall_, wall_);
    if (!stat || !cores) continue;
    const auto bytes = static_cast<double>(stat->usage());
    cache_.append(Metric::HostAppMemory, application.name, wall_, bytes);
    if (options_.pageCache)
      cache_.append(Metric::HostAppMemoryWithPageCache, application.name, wall_,
                    static_cast<double>(stat->usageWithPageCache()));
    metrics_.hostApplication(application.name, "cpu", application.priority, application.qos,
                             *cores);
    metrics_.hostApplication(application.name, "memory", application.priority, application.qos,
                             bytes);
  }
}

void Collector::collectSystem() {
  const WallTime from = wall_ - options_.systemOutdated;
  const auto last = [&](Metric metric, std::string_view subject) {
    return cache_.last(metric, subject, from, wall_);
  };
  const auto nodeCpu = last(Metric::NodeCpu, "");
  const auto nodeMemory = last(Metric::NodeMemory, "");
  // Without the pods all usage would count as the system's.
  if (!nodeCpu || !nodeMemory || !states_.podsSynced()) return;
  double cpu = *nodeCpu, memory = *nodeMemory;
  for (const auto& view : states_.pods()) {
    cpu -= last(Metric::PodCpu, view.uid()).value_or(0);
    memory -= last(Metric::PodMemory, view.uid()).value_or(0);
  }
  if (states_.slo())
    for (const auto& application : states_.slo()->hostApplications) {
      cpu -= last(Metric::HostAppCpu, application.name).value_or(0);
      memory -= last(Metric::HostAppMemory, application.name).value_or(0);
    }
  cache_.append(Metric::SystemCpu, "", wall_, std::max(cpu, 0.0));
  cache_.append(Metric::SystemMemory, "", wall_, std::max(memory, 0.0));
}

}  // namespace koord::koordlet
