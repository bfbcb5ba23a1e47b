#pragma once

// CPU normalisation (gate CPUNormalization): if a node's CPUs are faster than nominal, the quota of
// pods that share CPUs shrinks by the same factor, so that a core of quota means the same work on
// all nodes. The hook for batch resources does this for BE pods; pinned pods have no quota.

#include <unordered_set>

#include "koordlet/hooks/hook.h"
#include "koordlet/states/cpu_ratio.h"
#include "koordlet/system/cgroup_reader.h"

namespace koord::koordlet {

class CpuNormalizationHook final : public Hook {
 public:
  explicit CpuNormalizationHook(const Host& host) : reader_(host.layout) {}
  void prepare(const States& states, HookUpdates& updates) override;
  void wanted(const PodView& pod, HookUpdates& updates) override;

 private:
  bool concerns(const PodView& pod) const;
  // Returns true if the pod or one of its containers has less than its nominal quota. Each cgroup
  // is checked until it has a quota.
  bool hasReducedQuota(const PodView& pod);
  bool isShrunk(const std::string& dir, std::int64_t nominal);
  // The quota for the CFS period of the cgroup.
  std::string quotaOf(std::int64_t nominal, const std::string& dir);

  CgroupReader reader_;
  CpuRatio ratio_;
  bool shrunk_ = false;  // quotas were below nominal at some time, and must be restored
  std::unordered_set<std::string> seen_;  // cgroups already checked, while shrunk_ is false
  bool nodeBursts_ = false;
};

}  // namespace koord::koordlet
