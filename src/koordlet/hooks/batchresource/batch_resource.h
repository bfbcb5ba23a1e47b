#pragma once

// Pods of batch resources are BestEffort for Kubernetes, so kubelet gives them no CPU weight and no
// limit. This hook does, from their batch-cpu and batch-memory: cpu.shares, the CFS quota and the
// memory limit of the pod and of each container. While CPU suppress works by the quota of all
// best-effort pods together, theirs is unlimited: two quotas at work would throttle twice.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "koordlet/hooks/hook.h"
#include "koordlet/states/cpu_ratio.h"
#include "koordlet/system/cgroup_reader.h"
#include "model/extended_resource_spec.h"

namespace koord::koordlet {

// Values for cgroup files; -1 = no limit. The quota is for a period of kCfsPeriodUs.
struct BatchLimits {
  std::int64_t shares = 2;
  std::int64_t quota = -1;
  std::int64_t memory = -1;
  bool operator==(const BatchLimits&) const = default;
};
BatchLimits podLimits(const model::ExtendedResourceSpec& spec);
// With init containers and sidecars. One container without a limit, and the pod has none.
BatchLimits podLimits(const api::Pod& pod);
BatchLimits containerLimits(const model::ExtendedResourceContainer& container);

// What best-effort pods ask for: by their spec or, if that says nothing, by annotation. nullopt for
// pods that are not BE or have no batch resources.
std::optional<model::ExtendedResourceSpec> batchResourcesOf(const PodView& pod);

class BatchResourceHook final : public Hook {
 public:
  explicit BatchResourceHook(const Host& host) : reader_(host.layout) {}
  void prepare(const States& states, HookUpdates& updates) override;
  void wanted(const PodView& pod, HookUpdates& updates) override;

 private:
  // What a pod's object says, as long as it is the same object.
  struct Known {
    std::shared_ptr<const api::Pod> pod;
    std::optional<BatchLimits> whole;  // none: it is not about this pod
    std::map<std::string, BatchLimits, std::less<>> containers;
    // In microseconds, by cgroup. Who makes a cgroup sets its period once.
    std::map<std::string, std::int64_t> periods;
  };
  Known& limitsOf(const PodView& pod);
  void add(const BatchLimits& limits, const std::string& dir, Known& known, UpdateList& updates);
  std::int64_t periodOf(const std::string& dir, Known& known);

  CgroupReader reader_;
  bool quotaUnset_ = false;
  CpuRatio ratio_;
  std::unordered_map<std::string, Known> known_;  // by uid
};

}  // namespace koord::koordlet
