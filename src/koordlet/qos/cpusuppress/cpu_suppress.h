#pragma once

// Holds BE pods below the CPU ceiling of the node, every second: by the set of CPUs that they may
// run on (policy cpuset) or by the quota of their common cgroup (policy cfsQuota). When the feature
// is switched off, or the other policy is in force, its settings are reverted.

#include <optional>
#include <string>
#include <unordered_set>

#include "koordlet/metriccache/metric_cache.h"
#include "koordlet/metrics/metrics.h"
#include "koordlet/qos/cpusuppress/budget.h"
#include "koordlet/qos/cpusuppress/cpuset_policy.h"
#include "koordlet/resourceexecutor/resource_executor.h"
#include "koordlet/states/states.h"
#include "koordlet/system/cgroup_reader.h"
#include "koordlet/system/cpu_manager_state.h"

namespace koord::koordlet {

class CpuSuppress {
 public:
  // What the last round did and why; shown to operators.
  struct Status {
    std::int64_t rounds = 0;  // since start
    bool enabled = false;
    std::string policy;
    std::int64_t nodeMilli = 0;
    std::int64_t thresholdPercent = 0;
    std::int64_t lsUsedMilli = 0;  // pods and host applications that are not BE
    std::int64_t systemUsedMilli = 0;
    std::int64_t budgetMilli = 0;
    std::string beCpuset;
    std::int64_t beQuotaUs = -1;
    std::string reason = "not run yet";
  };

  // `managed`: true if the gate BECPUManager is on. Then BE pods are not suppressed: pods with CPUs
  // or NUMA nodes from the scheduler keep what the hooks set, the others get all CPUs that BE pods
  // may have.
  CpuSuppress(const Host& host, const Clock& clock, const States& states, const MetricCache& cache,
              ResourceExecutor& executor, Metrics& metrics, Duration collectInterval,
              bool managed = false);

  // Runs one round.
  void run();
  // Called when NodeSLO changed. Removes the besteffort quota at once if the policy has none: pods
  // are about to get their own quotas, and the kernel refuses quotas above their parent's.
  void policyChanged();
  const Status& status() const { return status_; }
  // Caps the budget of BE pods, for the given reason; nullopt removes the cap.
  struct Ceiling {
    std::int64_t milli = 0;
    std::string why;
  };
  void setCeiling(std::optional<Ceiling> ceiling) { ceiling_ = std::move(ceiling); }

 private:
  Result<cpusuppress::Budget> budget();
  // The CPUs that BE pods have now.
  Result<CpuSet> currentCpus();
  // The CPUs that the kubepods cgroup may use: no cgroup below it can have others.
  const std::vector<CpuPlace>& usableCpus();
  void describe(const cpusuppress::Budget& budget);
  void adjustCpuset(std::int64_t budgetMilli);
  void adjustQuota(std::int64_t budgetMilli);
  void recoverCpuset();
  void recoverQuota();
  // CPUs that BE pods must not have, for any budget.
  CpuSet excluded();
  void writeCpuset(const CpuSet& cpus, const CpuSet& above, std::string_view reason);
  // Calls onPod(pod) and onContainer(pod, name) for the directories below the besteffort cgroup,
  // with their names.
  template <class OnPod, class OnContainer>
  void forEachDirectory(OnPod onPod, OnContainer onContainer);
  // A hash of the directories below the besteffort cgroup.
  std::size_t directories();
  // Pods that are pinned to CPUs.
  const std::vector<cpusuppress::PinnedPod>& pinned();
  void readBack();

  const Host& host_;
  const Clock& clock_;
  const States& states_;
  const MetricCache& cache_;
  ResourceExecutor& executor_;
  Metrics& metrics_;
  Duration collectInterval_;
  bool managed_;
  CgroupReader reader_;
  CpuManagerFile kubelet_;
  bool quotaRecovered_ = false;
  std::optional<Ceiling> ceiling_;
  // The last values that were written without an error, and their directories.
  struct Settled {
    CpuSet cpus, above;
    std::size_t directories = 0;
    std::uint64_t forgotten = 0;
    SteadyTime at{};
  };
  std::optional<Settled> settled_;
  std::vector<cpusuppress::PinnedPod> pinned_;
  std::unordered_set<std::string> placed_;  // cgroups of pods that the hooks place
  std::uint64_t pinnedFor_ = 0;             // the version of the pods, for both
  UpdateList levels_[3];                    // members, so that their memory is reused
  std::string path_, names_, dir_;
  cpusuppress::BudgetInput input_;
  std::vector<CpuPlace> usable_;
  cpusuppress::CpusetInput choosing_, chosenFor_;
  CpuSet chosen_;  // for the latter
  Status status_;
};

}  // namespace koord::koordlet
