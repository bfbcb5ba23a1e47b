#pragma once

// Evicts best-effort pods when the node's memory runs full (feature BEMemoryEvict), until it would
// be back below the lower threshold; then waits for the kernel to see the effect before it looks
// again.

#include "koordlet/metriccache/metric_cache.h"
#include "koordlet/qos/evictor/evictor.h"
#include "koordlet/states/states.h"

namespace koord::koordlet {

class MemoryEvict {
 public:
  struct Status {
    bool enabled = false;
    std::int64_t usedPercent = 0;
    std::int64_t thresholdPercent = 0;
    std::int64_t lowerPercent = 0;
    std::string lastEviction;  // time and pods; empty when there was none
    std::string reason = "not run yet";
  };

  MemoryEvict(Executor& executor, const States& states, const MetricCache& cache, Evictor& evictor,
              Duration collectInterval, Duration coolDown);

  // One round; evictions go on by themselves.
  void run();
  const Status& status() const { return status_; }

 private:
  Task<void> evict(EvictionTask task);

  Executor& executor_;
  const States& states_;
  const MetricCache& cache_;
  Evictor& evictor_;
  Duration collectInterval_;
  Duration coolDown_;
  bool evicting_ = false;
  std::optional<SteadyTime> lastEviction_;
  Status status_;
  TaskGroup tasks_;
};

}  // namespace koord::koordlet
