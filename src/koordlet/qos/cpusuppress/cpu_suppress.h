#pragma once

// Holds best-effort pods below the CPU ceiling of the node, every second: by the set of CPUs they
// may run on (policy cpuset) or by the quota of their common cgroup (policy cfsQuota). When the
// feature is switched off, or the other policy is in force, what it had set is given back.

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
  // What it did last and why; for people.
  struct Status {
    std::int64_t rounds = 0;  // since start
    bool enabled = false;
    std::string policy;
    std::int64_t nodeMilli = 0;
    std::int64_t thresholdPercent = 0;
    std::int64_t lsUsedMilli = 0;  // pods and host applications that are not best effort
    std::int64_t systemUsedMilli = 0;
    std::int64_t budgetMilli = 0;
    std::string beCpuset;
    std::int64_t beQuotaUs = -1;
    std::string reason = "not run yet";
  };

  // `managed`: the gate BECPUManager is on. Best effort is not suppressed then; pods to which the scheduler gave CPUs or
  // NUMA nodes keep what the hooks set, the others have all that best effort may have.
  CpuSuppress(const Host& host, const Clock& clock, const States& states, const MetricCache& cache,
              ResourceExecutor& executor, Metrics& metrics, Duration collectInterval,
              bool managed = false);

  // One round.
  void run();
  // NodeSLO changed: a quota that is no longer wanted is given back now, since pods are about to be
  // told quotas of their own, and the kernel takes none above their parent's.
  void policyChanged();
  const Status& status() const { return status_; }
  // Best effort gets no more than this, whatever the budget, for the reason given; nullopt lifts it.
  struct Ceiling {
    std::int64_t milli = 0;
    std::string why;
  };
  void restrain(std::optional<Ceiling> ceiling) { ceiling_ = std::move(ceiling); }

 private:
  Result<cpusuppress::Budget> budget();
  // What best effort has now.
  Result<CpuSet> currentCpus();
  // Of the machine, those that kubepods may use: nothing below it can have others.
  const std::vector<CpuPlace>& usableCpus();
  void describe(const cpusuppress::Budget& budget);
  void adjustCpuset(std::int64_t budgetMilli);
  void adjustQuota(std::int64_t budgetMilli);
  void recoverCpuset();
  void recoverQuota();
  // CPUs that best effort must not have, whatever the budget.
  CpuSet excluded();
  void writeCpuset(const CpuSet& cpus, const CpuSet& above, std::string_view reason);
  // Calls onPod(pod) and onContainer(pod, name) for the directories below best effort's, by their names.
  template <class OnPod, class OnContainer>
  void forEachDirectory(OnPod onPod, OnContainer onContainer);
  // A number that differs when best effort has other directories.
  std::size_t directories();
  // Pods with CPUs of their own.
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
  // What was written last without a refusal, to which directories.
  struct Settled {
    CpuSet cpus, above;
    std::size_t directories = 0;
    std::uint64_t forgotten = 0;
    SteadyTime at{};
  };
  std::optional<Settled> settled_;
  std::vector<cpusuppress::PinnedPod> pinned_;
  std::unordered_set<std::string> placed_;  // cgroups of pods that the hooks place
  std::uint64_t pinnedFor_ = 0;             // the version of the pods, of both
  UpdateList levels_[3];                    // these keep their memory
  std::string path_, names_, dir_;
  cpusuppress::BudgetInput input_;
  std::vector<CpuPlace> usable_;
  cpusuppress::CpusetInput choosing_, chosenFor_;
  CpuSet chosen_;  // for the latter
  Status status_;
};

}  // namespace koord::koordlet
