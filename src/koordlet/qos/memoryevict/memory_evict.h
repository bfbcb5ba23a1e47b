#pragma once

// Evicts pods when the node's memory runs full or too much of it was promised, until it would be
// back below the lower threshold; then waits for the kernel to see the effect before it looks
// again. The features (gates BEMemoryEvict, MemoryAllocatableEvict, MemoryEvict) work in this order
// on one account.

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
    std::string lastEviction;  // time and pods; empty when there was none
    std::string reason = "not run yet";
  };

  MemoryEvict(Executor& executor, const States& states, const MetricCache& cache, Evictor& evictor,
              Features features, Duration collectInterval, Duration coolDown);

  // One round; evictions go on by themselves.
  void run();
  const Status& status() const { return status_; }

 private:
  // What to do now; says in the status why nothing, if nothing.
  std::vector<EvictionTask> tasks(const api::ResourceThresholdStrategy& strategy);
  // The pods that the feature may evict, with what they use.
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
