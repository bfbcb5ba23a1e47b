#pragma once

// Applies CPU burst (rules.h) to the containers of pods that are not best effort and have no CPUs
// of their own, every second.

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

  // Where CPUs are faster than nominal, a container's own quota is that much smaller. The ratio outlives this.
  void normalize(const CpuRatio& ratio) { ratio_ = &ratio; }
  // One round. Quotas begin where the kernel has them, so a restart goes on.
  void run();

  struct Status {
    std::string nodeState = "not run yet";
    std::int64_t lifted = 0;  // containers above their own quota now
  };
  const Status& status() const { return status_; }
  // What the last round set, as series of each container.
  void publish(Metrics& metrics) const;

 private:
  // What a pod's limits and the strategies come to.
  struct Planned {
    struct Container {
      const ContainerView* view;
      std::int64_t limitMilli;
      std::int64_t base;        // the quota by the limit and the ratio
      std::int64_t burst;       // what may be saved up
      std::int64_t nominal;     // the quota by the limit alone, which the runtime sets
      bool saves = false;       // and is, by the kernel
      std::int64_t lifted = 0;  // the quota, while it is above the base
    };
    const PodView* pod;
    api::CPUBurstStrategy strategy;
    std::vector<Container> containers;
  };
  // Anew when the pods or NodeSLO changed.
  void plan(const EffectiveSlo& slo);
  Planned planFor(const PodView& pod, const EffectiveSlo& slo) const;
  void applyBurst(Planned& planned);
  // `base`: the quota by the limits. Whether the kernel takes it.
  bool writeBurst(const std::string& dir, std::int64_t us, std::int64_t base);
  void applyQuota(Planned& planned);
  bool moveQuota(const PodView& pod, const ContainerView& container, std::int64_t current,
                 std::int64_t next);
  cpuburst::QuotaStep wishOf(const ContainerView& container, std::int64_t limitMilli,
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
  SteadyTime closed_{};            // files of pods that are gone
  bool burstWithinQuota_ = false;  // the kernel refuses more
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
