#pragma once

// What is used on each NUMA node, and how much of that is the system's: CPU and memory, every ten seconds. Asking
// for each pod's memory by node makes the kernel add up the counters of all CPUs, which is not worth it each second.

#include <optional>
#include <string>
#include <vector>

#include "koordlet/collect/rate.h"
#include "koordlet/metriccache/metric_cache.h"
#include "koordlet/states/states.h"
#include "koordlet/system/cgroup_reader.h"
#include "koordlet/system/host.h"
#include "koordlet/system/procfs.h"

namespace koord::koordlet {

class NumaCollector {
 public:
  // `interval`: between two samples of the node, whose system's share is divided here.
  NumaCollector(const Host& host, const Clock& clock, const States& states, MetricCache& cache,
                Duration interval);
  // Called after each round of the node's samples; does something when it is time.
  void collect();

 private:
  bool due();
  // By node; empty while it cannot be said.
  std::vector<double> collectCpu();
  void shareSystemCpu(const std::vector<double>& cores);
  void collectMemory(std::size_t nodes);
  // Bytes of all pods by node; nullopt while the pods are not known.
  const std::vector<std::int64_t>* memoryOfPods(std::size_t nodes);

  const Host& host_;
  const Clock& clock_;
  const States& states_;
  MetricCache& cache_;
  Duration interval_;
  CgroupReader reader_;
  RateKeeper rates_;
  CpuTicks ticks_;
  std::string text_;
  std::vector<std::string> names_;  // "0", "1", ...: the subjects
  std::vector<std::int64_t> podBytes_;
  std::optional<SteadyTime> at_;
  int samples_ = 0;
};

}  // namespace koord::koordlet
