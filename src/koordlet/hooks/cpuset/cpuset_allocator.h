#pragma once

// Which CPUs a pod's containers run on (gate CPUSetAllocator): those that the scheduler pinned it to,
// or the pools that pods share, so that they stay off the CPUs of others. Best effort is held by CPU
// suppress, and what nobody says anything about is left to kubelet's static policy, if it has that.

#include "koordlet/hooks/hook.h"
#include "koordlet/states/host_application.h"
#include "koordlet/system/cgroup_reader.h"
#include "koordlet/topology/node_topology.h"

namespace koord::koordlet {

struct CpusetDecision {
  CpuSet cpus;  // empty: nothing to say
  // Pinned pods have their CPUs to themselves; a quota on top would only stop them at its end.
  bool unlimited = false;
};
// `cpus` is the machine's. A resource-status that cannot be read says nothing.
// `beManaged`: best effort that the scheduler placed on NUMA nodes stays there (gate BECPUManager).
CpusetDecision cpusetOf(const PodView& pod, const CpuPools& pools, const CpuTopology& cpus,
                        bool beManaged = false);

class CpusetHook final : public Hook {
 public:
  // Told of the pools whenever they are worked out anew.
  using PoolsFn = std::function<void(const CpuPools&)>;
  // `unsetQuota` false: quotas of pinned pods stay (--disable-unset-cpu-quota).
  // `applications`: a file that outlives the process, for host applications that NodeSLO names; "" for none.
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
  CpuManagerState kubelet_;  // as last read
  std::optional<CpuPools> pools_;
  NamedApplications applications_;
};

}  // namespace koord::koordlet
