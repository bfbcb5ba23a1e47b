#pragma once

// Evicts best-effort pods that have starved for a while (satisfaction.h; gate BECPUEvict), so that
// they can run on a node with room. Every second, with a pause after each eviction.

#include "base/json.h"
#include "koordlet/metriccache/metric_cache.h"
#include "koordlet/qos/cpuevict/satisfaction.h"
#include "koordlet/states/states.h"

namespace koord::koordlet {

class CpuEvict {
 public:
  struct Status {
    bool enabled = false;
    std::string lastEviction;  // time and pods; empty when there was none
    std::string reason = "not run yet";
  };

  CpuEvict(Executor& executor, const States& states, const MetricCache& cache, Evictor& evictor,
           Duration collectInterval, Duration coolDown);

  // One round; evictions go on by themselves.
  void run();
  const Status& status() const { return status_; }

 private:
  struct Use {
    double usage = 0, request = 0, limit = 0;
  };
  // Averages over the window; an error when there are too few samples.
  Result<Use> averages(const api::ResourceThresholdStrategy& strategy) const;
  std::optional<Use> newest(const api::ResourceThresholdStrategy& strategy) const;
  std::optional<double> limitOf(const api::ResourceThresholdStrategy& strategy,
                                std::optional<double> real) const;
  std::int64_t release(const api::ResourceThresholdStrategy& strategy);
  std::vector<cpuevict::CpuUser> users() const;
  Task<void> evict(std::vector<EvictionTask> tasks);

  Executor& executor_;
  const States& states_;
  const MetricCache& cache_;
  Evictor& evictor_;
  Duration collectInterval_;
  Duration coolDown_;
  bool evicting_ = false;
  SteadyTime lastAttempt_;  // or start: what starved us may be over in a moment
  Status status_;
  TaskGroup tasks_;
};

json::value viewOf(const CpuEvict::Status& status);

}  // namespace koord::koordlet
