#include "koordlet/collect/psi_collector.h"

#include "base/log.h"

namespace koord::koordlet {
namespace {

Metric after(Metric first, int steps) {
  return static_cast<Metric>(static_cast<int>(first) + steps);
}

void publish(Metrics& metrics, const Metrics::Subject& who, const char* resource,
             const Pressure& pressure, bool cpuFull) {
  const auto degree = [&](const char* name, const StallAverages& averages) {
    for (const auto& [precision, value] : {std::pair("avg10", averages.avg10),
                                           {"avg60", averages.avg60},
                                           {"avg300", averages.avg300}})
      metrics.pressure(who, {resource, precision, name, cpuFull, value});
  };
  degree("some", pressure.some);
  degree("full", pressure.full.value_or(StallAverages{}));
}

}  // namespace

PsiCollector::PsiCollector(const Host& host, const Clock& clock, const States& states,
                           MetricCache& cache, Metrics& metrics)
    : host_(host), clock_(clock), states_(states), cache_(cache), metrics_(metrics) {}

void PsiCollector::take(const std::string& dir, const std::string& subject, Metric first,
                        const Metrics::Subject& who) {
  const auto pressure = readPressure(host_.layout, dir);
  if (!pressure) {
    if (!found_) problem_ = pressure.error().message;
    log::v(5, "pressure of {} not measured: {}", dir, pressure.error().message);
    return;
  }
  found_ = true;
  problem_.clear();
  const WallTime now = clock_.wallNow();
  const bool cpuFull = pressure->cpu.full.has_value();
  int step = 0;
  for (const auto& [name, one] :
       {std::pair("cpu", &pressure->cpu), {"mem", &pressure->memory}, {"io", &pressure->io}}) {
    cache_.append(after(first, step++), subject, now, one->some.avg10);
    cache_.append(after(first, step++), subject, now, one->full.value_or(StallAverages{}).avg10);
    publish(metrics_, who, name, *one, cpuFull);
  }
}

void PsiCollector::collect() {
  found_ = false;
  metrics_.resetPressure();
  for (const auto& pod : states_.pods()) {
    if (!pod.active()) continue;
    Metrics::Subject who{pod.uid(), pod.pod->metadata.name, pod.pod->metadata.namespace_, "", ""};
    take(pod.dir, pod.uid(), Metric::PodCpuSome, who);
    for (const auto& container : pod.containers) {
      if (container.dir.empty() || !container.running) continue;
      who.containerId = container.id;
      who.containerName = container.name;
      take(container.dir, container.id, Metric::ContainerCpuSome, who);
    }
  }
}

}  // namespace koord::koordlet
