#pragma once

// Measures the node, its pods and containers, all BE pods together, host applications and the rest
// (the system) in each round, and appends the samples to the metric cache. A file that cannot be
// read, e.g. of a pod that ended in the middle of the round, or that is malformed costs only its
// own sample.

#include "koordlet/collect/rate.h"
#include "koordlet/metriccache/metric_cache.h"
#include "koordlet/metrics/metrics.h"
#include "koordlet/states/states.h"
#include "koordlet/system/cgroup_reader.h"
#include "koordlet/system/host.h"
#include "koordlet/system/procfs.h"

namespace koord::koordlet {

struct CollectorOptions {
  Duration interval = std::chrono::seconds(1);
  Duration systemOutdated = std::chrono::seconds(10);  // older inputs are not used for the system
  Duration cpuInfoInterval = std::chrono::seconds(60);
  bool pageCache = false;  // --enable-pagecache-collector
};

class Collector {
 public:
  Collector(Host& host, const Clock& clock, const States& states, MetricCache& cache,
            Metrics& metrics, CollectorOptions options);

  // One round in two steps. collectDemand() measures the CPU of the node, pods and host
  // applications, from which CPU suppress computes the CPU for BE pods, so that it need not wait
  // for the rest: memory, containers and derived values.
  void collectDemand();
  void collectRest();
  void collect() {
    collectDemand();
    collectRest();
  }
  // Returns true if every kind of measurement that does not depend on pods has succeeded once.
  bool ready() const { return nodeReady_; }

  // Switches the measurement of memory with page cache, which is needed if a report contains it.
  void setPageCache(bool wanted) { options_.pageCache = wanted; }

 private:
  struct Usage {
    Metric cpu, memory, memoryWithPageCache, throttled;
  };
  static const Usage kPod, kContainer;

  void collectNode();
  void collectCpu(const std::string& dir, std::string_view subject, const Usage& usage);
  void collectMemory(const std::string& dir, std::string_view subject, const Usage& usage);
  void takeThrottling(const std::string& dir, std::string_view subject, Metric metric,
                      const CpuThrottling& counts);
  void collectBestEffort();
  void collectHostApplicationsCpu();
  void collectHostApplications();
  void collectSystem();
  void refreshCpuInfo();

  Host& host_;
  const Clock& clock_;
  const States& states_;
  MetricCache& cache_;
  Metrics& metrics_;
  CollectorOptions options_;
  CgroupReader reader_;
  std::int64_t ticksPerSecond_;

  // Of this round.
  WallTime wall_{};
  SteadyTime steady_{};

  RateKeeper nodeCpu_, cgroupCpu_;
  RatesKeeper<2> throttling_;  // CFS periods, and throttled CFS periods
  CpuTicks ticks_;
  std::string text_;  // buffer for files
  bool nodeReady_ = false;
  std::optional<SteadyTime> cpuInfoAt_;
  SteadyTime collectedGarbage_{};
};

}  // namespace koord::koordlet
