#pragma once

// Evicts pods when the node's CPU is short; every second, with a pause after each eviction. Three
// features on one account, in this order: best-effort pods that have starved for a while
// (BECPUEvict, satisfaction.h), pods of lower priorities when more CPU was promised to them than the
// node has (CPUAllocatableEvict), and pods that allow it when the node's usage is at a threshold
// (CPUEvict).

#include "base/json.h"
#include "koordlet/metriccache/metric_cache.h"
#include "koordlet/qos/cpuevict/satisfaction.h"
#include "koordlet/qos/evictor/priority_victims.h"
#include "koordlet/states/states.h"

namespace koord::koordlet {

class CpuEvict {
 public:
  struct Features {
    bool bestEffort = false;
    bool allocatable = false;
    bool used = false;
    bool any() const { return bestEffort || allocatable || used; }
  };
  struct Status {
    bool enabled = false;
    std::string lastEviction;  // time and pods; empty when there was none
    std::string reason = "not run yet";
  };

  CpuEvict(Executor& executor, const States& states, const MetricCache& cache, Evictor& evictor,
           Features features, Duration collectInterval, Duration coolDown);

  // One round; evictions go on by themselves.
  void run();
  const Status& status() const { return status_; }

 private:
  struct Use {
    double usage = 0, request = 0, limit = 0;
  };
  // Each gives the task of its feature, or why there is none.
  Result<EvictionTask> bestEffortTask(const api::ResourceThresholdStrategy& strategy) const;
  Result<EvictionTask> allocatableTask(const api::ResourceThresholdStrategy& strategy) const;
  Result<EvictionTask> usedTask(const api::ResourceThresholdStrategy& strategy) const;
  // Averages over the window; an error when there are too few samples.
  Result<Use> averages(const api::ResourceThresholdStrategy& strategy) const;
  std::optional<Use> newest(const api::ResourceThresholdStrategy& strategy) const;
  std::optional<double> limitOf(const api::ResourceThresholdStrategy& strategy,
                                std::optional<double> real) const;
  Duration windowOf(const api::ResourceThresholdStrategy& strategy) const;
  std::vector<cpuevict::CpuUser> users() const;
  // The pods that the feature may evict, with the milli-cores that they use.
  std::vector<PodUse> usersFor(std::string_view feature) const;
  Task<void> evict(std::vector<EvictionTask> tasks);

  Executor& executor_;
  const States& states_;
  const MetricCache& cache_;
  Evictor& evictor_;
  Features features_;
  Duration collectInterval_;
  Duration coolDown_;
  bool evicting_ = false;
  SteadyTime lastAttempt_;  // or start: what starved us may be over in a moment
  Status status_;
  TaskGroup tasks_;
};

json::value viewOf(const CpuEvict::Status& status);

}  // namespace koord::koordlet
