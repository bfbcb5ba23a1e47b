#pragma once

// Evicts pods when the node's CPU is short. Runs every second, with a cool-down after each
// eviction. Three features share one account of released CPU, in this order: BE pods that are
// starved for a while (BECPUEvict, satisfaction.h), pods of lower priorities whose requests exceed
// the node's allocatable (CPUAllocatableEvict), and pods that allow eviction when the node's usage
// reaches a threshold (CPUEvict).

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
    std::string lastEviction;  // time and pods; empty if there was none
    std::string reason = "not run yet";
  };

  CpuEvict(Executor& executor, const States& states, const MetricCache& cache, Evictor& evictor,
           Features features, Duration collectInterval, Duration coolDown);

  // Runs one round. Evictions run asynchronously.
  void run();
  const Status& status() const { return status_; }

 private:
  using Use = cpuevict::BestEffortUse;
  // Each returns the task of its feature, or an error that says why there is none.
  Result<EvictionTask> bestEffortTask(const api::ResourceThresholdStrategy& strategy) const;
  Result<EvictionTask> allocatableTask(const api::ResourceThresholdStrategy& strategy) const;
  Result<EvictionTask> usedTask(const api::ResourceThresholdStrategy& strategy) const;
  // Averages over the window; an error if there are too few samples.
  Result<Use> averages(const api::ResourceThresholdStrategy& strategy) const;
  std::optional<Use> newest(const api::ResourceThresholdStrategy& strategy) const;
  std::optional<double> limitOf(const api::ResourceThresholdStrategy& strategy,
                                std::optional<double> real) const;
  Duration windowOf(const api::ResourceThresholdStrategy& strategy) const;
  std::vector<cpuevict::CpuUser> users() const;
  // The pods that the feature may evict, with their usage in milli-cores.
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
  SteadyTime lastAttempt_;  // or the start: a shortage at start may be over soon
  Status status_;
  TaskGroup tasks_;
};

json::value viewOf(const CpuEvict::Status& status);

}  // namespace koord::koordlet
