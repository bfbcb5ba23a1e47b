#pragma once

// Evicts pods when the node's memory usage or the sum of memory requests is too high, until it
// would be back below the lower threshold. Then waits for the cool-down until the usage shows the
// effect. The features (gates BEMemoryEvict, MemoryAllocatableEvict, MemoryEvict) work in this
// order on one account of released memory.

#include "koordlet/metriccache/metric_cache.h"
#include "koordlet/qos/evictor/evictor.h"
#include "koordlet/qos/memoryevict/victims.h"
#include "koordlet/states/states.h"

namespace koord::koordlet {

class MemoryEvict {
 public:
  struct Features {
    bool bestEffort = false;
    bool allocatable = false;
    bool used = false;
    bool any() const { return bestEffort || allocatable || used; }
  };
  struct Status {
    bool enabled = false;
    std::int64_t usedPercent = 0;
    std::int64_t thresholdPercent = 0;
    std::int64_t lowerPercent = 0;
    std::string lastEviction;  // time and pods; empty if there was none
    std::string reason = "not run yet";
  };

  MemoryEvict(Executor& executor, const States& states, const MetricCache& cache, Evictor& evictor,
              Features features, Duration collectInterval, Duration coolDown);

  // Runs one round. Evictions run asynchronously.
  void run();
  const Status& status() const { return status_; }

 private:
  // The tasks of this round. If there are none, the status gets the reason.
  std::vector<EvictionTask> tasks(const api::ResourceThresholdStrategy& strategy);
  // The pods that the feature may evict, with their usage.
  std::vector<memoryevict::MemoryUser> usersFor(std::string_view feature) const;
  std::optional<double> last(Metric metric, std::string_view subject) const;
  Task<void> evict(std::vector<EvictionTask> tasks);

  Executor& executor_;
  const States& states_;
  const MetricCache& cache_;
  Evictor& evictor_;
  Features features_;
  Duration collectInterval_;
  Duration coolDown_;
  bool evicting_ = false;
  std::optional<SteadyTime> lastEviction_;  // or attempt at one
  Status status_;
  TaskGroup tasks_;
};

}  // namespace koord::koordlet
