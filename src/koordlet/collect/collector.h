#pragma once

// Measures the node, its pods and containers, best effort as a whole, host applications and what is
// left (the system), each round, and puts the samples into the metric cache. A file that cannot be
// read (a pod that ended in the middle of the round, garbage) costs that one sample and nothing
// else.

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
  Duration systemOutdated = std::chrono::seconds(10);  // older inputs do not make system usage
  Duration cpuInfoInterval = std::chrono::seconds(60);
  bool pageCache = false;  // --enable-pagecache-collector
};

class Collector {
 public:
  Collector(Host& host, const Clock& clock, const States& states, MetricCache& cache,
            Metrics& metrics, CollectorOptions options);

  // One round in two steps. First what decides how much is left for best effort, the CPU of the node, of pods and of
  // host applications, so that whoever acts on it need not wait for the rest: memory, containers and what is derived.
  void collectDemand();
  void collectRest();
  void collect() {
    collectDemand();
    collectRest();
  }
  // Every kind of measurement that does not depend on pods has worked once.
  bool ready() const { return nodeReady_; }

  // Whether memory is also to be measured with page cache: somebody reports it.
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
  RatesKeeper<2> throttling_;  // periods, and those in which it was throttled
  CpuTicks ticks_;
  std::string text_;  // of a file; keeps its memory
  bool nodeReady_ = false;
  std::optional<SteadyTime> cpuInfoAt_;
  SteadyTime collectedGarbage_{};
};

}  // namespace koord::koordlet
