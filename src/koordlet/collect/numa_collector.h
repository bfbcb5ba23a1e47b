#pragma once

// Samples CPU and memory usage of each NUMA node, and the system's part of it, every ten seconds.
// It is not done each second, because the kernel adds up the counters of all CPUs for each pod's
// memory by NUMA node.

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
  // `interval`: the time between two samples of the node. The node's system usage is divided here
  // among the NUMA nodes.
  NumaCollector(const Host& host, const Clock& clock, const States& states, MetricCache& cache,
                Duration interval);
  // Called after each round of the node's samples. Does nothing if the last sample is too recent.
  void collect();

 private:
  bool due();
  // Cores by NUMA node; empty if unknown.
  std::vector<double> collectCpu();
  void shareSystemCpu(const std::vector<double>& cores);
  void collectMemory(std::size_t nodes);
  // Bytes of all pods by NUMA node; nullptr while the pods are not known.
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
