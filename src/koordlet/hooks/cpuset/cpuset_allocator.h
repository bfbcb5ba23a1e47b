#pragma once

// The CPUs of a pod's containers (gate CPUSetAllocator): the CPUs to which the scheduler pinned the
// pod, or the shared pools, so that pods stay off the CPUs of pinned pods. CPU suppress sets the
// CPUs of BE pods; kubelet's static policy, if it is on, sets the CPUs of the remaining pods.

#include "koordlet/hooks/hook.h"
#include "koordlet/states/host_application.h"
#include "koordlet/system/cgroup_reader.h"
#include "koordlet/topology/node_topology.h"

namespace koord::koordlet {

struct CpusetDecision {
  CpuSet cpus;  // empty: the hook does not set the CPUs
  // True for pinned pods, which have their CPUs exclusively: a CFS quota would only throttle them.
  bool unlimited = false;
};
// `cpus`: the host's topology. `beManaged`: BE pods that the scheduler placed on NUMA nodes stay
// there (gate BECPUManager). A resource-status annotation that is not valid is ignored.
CpusetDecision cpusetOf(const PodView& pod, const CpuPools& pools, const CpuTopology& cpus,
                        bool beManaged = false);

class CpusetHook final : public Hook {
 public:
  // Called with the pools each time they are recomputed.
  using PoolsFn = std::function<void(const CpuPools&)>;
  // `unsetQuota` false: quotas of pinned pods stay (--disable-unset-cpu-quota).
  // `applications`: path of a file that outlives the process, with the host applications of
  // NodeSLO; "" for none.
  CpusetHook(const Host& host, bool unsetQuota, PoolsFn onPools = nullptr, bool beManaged = false,
             std::string applications = "");

  void prepare(const States& states, HookUpdates& updates) override;
  void wanted(const PodView& pod, HookUpdates& updates) override;

 private:
  void addApplications(const States& states, HookUpdates& updates);

  const Host& host_;
  bool unsetQuota_;
  PoolsFn onPools_;
  bool beManaged_;
  CgroupReader reader_;
  CpuManagerState kubelet_;  // as read last
  std::optional<CpuPools> pools_;
  NamedApplications applications_;
};

}  // namespace koord::koordlet
