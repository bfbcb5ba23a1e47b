#pragma once

// Applies CPU burst (rules.h) every second to the containers of pods that are neither BE nor pinned
// to CPUs.

#include <map>
#include <set>
#include <string>

#include "base/random.h"
#include "koordlet/metriccache/metric_cache.h"
#include "koordlet/metrics/metrics.h"
#include "koordlet/qos/cpuburst/rules.h"
#include "koordlet/resourceexecutor/resource_executor.h"
#include "koordlet/states/cpu_ratio.h"
#include "koordlet/states/states.h"
#include "koordlet/system/cgroup_reader.h"

namespace koord::koordlet {

class CpuBurst {
 public:
  CpuBurst(const Host& host, const Clock& clock, const States& states, const MetricCache& cache,
           ResourceExecutor& executor, Random random, Duration interval, Duration collectInterval);

  // If CPUs are faster than nominal, base quotas are divided by the ratio. The ratio must outlive
  // this object.
  void normalize(const CpuRatio& ratio) { ratio_ = &ratio; }
  // Runs one round. Quotas start from the kernel's current values, so they survive a restart.
  void run();

  struct Status {
    std::string nodeState = "not run yet";
    std::int64_t lifted = 0;  // containers whose quota is above their base quota
  };
  const Status& status() const { return status_; }
  // Publishes the values of the last round as one series per container.
  void publish(Metrics& metrics) const;

 private:
  // A pod's strategy and what follows from its limits.
  struct Planned {
    struct Container {
      const ContainerView* view;
      std::int64_t limitMilli;
      std::int64_t base;        // the quota from the limit and the ratio
      std::int64_t burst;       // the burst, in microseconds
      std::int64_t nominal;     // the quota from the limit alone, which the runtime sets
      bool saves = false;       // true if the kernel accepted the burst
      std::int64_t lifted = 0;  // the quota while it is above the base, else 0
    };
    const PodView* pod;
    api::CPUBurstStrategy strategy;
    std::vector<Container> containers;
  };
  // Recomputes the plans if the pods or NodeSLO changed.
  void plan(const EffectiveSlo& slo);
  Planned planFor(const PodView& pod, const EffectiveSlo& slo) const;
  void applyBurst(Planned& planned);
  // `base`: the quota from the limits. Returns true if the kernel accepts the burst.
  bool writeBurst(const std::string& dir, std::int64_t us, std::int64_t base);
  void applyQuota(Planned& planned);
  bool stepQuota(const PodView& pod, const ContainerView& container, std::int64_t current,
                 std::int64_t next);
  cpuburst::QuotaStep desiredStep(const ContainerView& container, std::int64_t limitMilli,
                                  const api::CPUBurstStrategy& strategy);
  bool allowed(const ContainerView& container, std::int64_t limitMilli,
               const api::CPUBurstStrategy& strategy);
  cpuburst::NodeState nodeState(std::int64_t thresholdPercent);
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
  SteadyTime closed_{};            // when files of removed pods were last closed
  bool burstWithinQuota_ = false;  // true if the kernel refuses a burst above the quota
  cpuburst::NodeState node_ = cpuburst::NodeState::Unknown;
  std::map<std::string, cpuburst::Limiter> limiters_;  // by container id
  std::set<std::string> normalized_;                   // container ids
  const CpuRatio* ratio_ = nullptr;                    // null: quotas are nominal
  double plannedRatio_ = 1;
  States::Versions plannedFor_;
  std::vector<Planned> plans_;
  std::vector<cpuburst::PodLoad> loads_;  // of all pods, in their order
  Status status_;
};

}  // namespace koord::koordlet
