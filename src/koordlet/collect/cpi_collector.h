#pragma once

// Counts cycles and instructions of containers (gate CPICollector) for ten seconds of each minute.
// If the file descriptors do not suffice for all containers, the containers take turns.

#include <functional>
#include <memory>

#include "koordlet/metriccache/metric_cache.h"
#include "koordlet/metrics/metrics.h"
#include "koordlet/states/states.h"
#include "koordlet/system/host.h"
#include "koordlet/system/perf_counters.h"

namespace koord::koordlet {

class CpiCollector {
 public:
  using Open = std::function<Result<std::unique_ptr<PerfCounters>>(const std::string& dir,
                                                                   const CpuSet& cpus)>;
  // `atOnce`: the most containers that are counted at the same time.
  CpiCollector(const Host& host, const Clock& clock, const States& states, MetricCache& cache,
               Metrics& metrics, std::size_t atOnce, Open open = openPerfCounters);
  // The beginning and the end of a counting window.
  void begin();
  void end();
  // Why the last container could not be counted; empty if it could.
  const std::string& problem() const { return problem_; }

 private:
  struct Counted {
    Metrics::Subject who;
    std::unique_ptr<PerfCounters> counters;
  };
  // All running containers, in the order in which they take turns.
  std::vector<std::pair<Metrics::Subject, std::string>> containers() const;

  const Host& host_;
  const Clock& clock_;
  const States& states_;
  MetricCache& cache_;
  Metrics& metrics_;
  std::size_t atOnce_;
  Open open_;
  std::vector<Counted> counted_;
  std::string next_;  // the id of the container with which the next window begins
  std::string problem_;
};

}  // namespace koord::koordlet
