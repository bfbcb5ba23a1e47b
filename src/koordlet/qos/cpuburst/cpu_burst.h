#pragma once

// Applies CPU burst (rules.h) to the containers of pods that are not best effort and have no CPUs
// of their own, every second.

#include <map>
#include <string>

#include "base/random.h"
#include "koordlet/metriccache/metric_cache.h"
#include "koordlet/qos/cpuburst/rules.h"
#include "koordlet/resourceexecutor/resource_executor.h"
#include "koordlet/states/states.h"
#include "koordlet/system/cgroup_reader.h"

namespace koord::koordlet {

class CpuBurst {
 public:
  CpuBurst(const Host& host, const Clock& clock, const States& states, const MetricCache& cache,
           ResourceExecutor& executor, Random random, Duration interval, Duration collectInterval);

  // One round. Quotas begin where the kernel has them, so a restart goes on.
  void run();

  struct Status {
    std::string nodeState = "not run yet";
    std::int64_t lifted = 0;  // containers above their own quota now
  };
  const Status& status() const { return status_; }

 private:
  void applyBurst(const PodView& pod, const api::CPUBurstStrategy& strategy);
  // `base`: the quota by the limits.
  void writeBurst(const std::string& dir, std::int64_t us, std::int64_t base);
  void applyQuota(const PodView& pod, const api::CPUBurstStrategy& strategy);
  void moveQuota(const PodView& pod, const ContainerView& container, std::int64_t current,
                 std::int64_t next);
  cpuburst::QuotaStep wishOf(const ContainerView& container, std::int64_t limitMilli,
                             const api::CPUBurstStrategy& strategy);
  bool allowed(const ContainerView& container, std::int64_t limitMilli,
               const api::CPUBurstStrategy& strategy);
  cpuburst::NodeState nodeState(std::int64_t thresholdPercent) const;
  std::optional<double> last(Metric metric, std::string_view subject) const;

  const Host& host_;
  const Clock& clock_;
  const States& states_;
  const MetricCache& cache_;
  ResourceExecutor& executor_;
  Random random_;
  Duration interval_;
  Duration collectInterval_;
  CgroupReader reader_;
  bool burstWithinQuota_ = false;  // the kernel refuses more
  cpuburst::NodeState node_ = cpuburst::NodeState::Unknown;
  std::map<std::string, cpuburst::Limiter> limiters_;  // by container id
  Status status_;
};

}  // namespace koord::koordlet
