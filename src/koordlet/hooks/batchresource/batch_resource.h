#pragma once

// Pods with batch resources have Kubernetes' QoS class BestEffort, so kubelet gives them no CPU
// weight and no limit. This hook does, from their batch-cpu and batch-memory: cpu.shares, the CFS
// quota and the memory limit of the pod and of each container. While CPU suppress limits the quota
// of all BE pods together, their own quotas are unlimited, because two quotas would throttle twice.

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
// Includes init containers and sidecars. If one container has no limit, the pod has no limit.
BatchLimits podLimits(const api::Pod& pod);
BatchLimits containerLimits(const model::ExtendedResourceContainer& container);

// The batch resources of a BE pod, from its spec or else from its annotation. nullopt if the pod is
// not BE or has no batch resources.
std::optional<model::ExtendedResourceSpec> batchResourcesOf(const PodView& pod);

class BatchResourceHook final : public Hook {
 public:
  explicit BatchResourceHook(const Host& host) : reader_(host.layout) {}
  void prepare(const States& states, HookUpdates& updates) override;
  void wanted(const PodView& pod, HookUpdates& updates) override;

 private:
  // The values computed from a pod's object; valid while the pod has the same object.
  struct Known {
    std::shared_ptr<const api::Pod> pod;
    std::optional<BatchLimits> whole;  // nullopt: the hook skips this pod
    std::map<std::string, BatchLimits, std::less<>> containers;
  };
  Known& limitsOf(const PodView& pod);
  void add(const BatchLimits& limits, const std::string& dir, UpdateList& updates);

  CgroupReader reader_;
  bool quotaUnset_ = false;
  CpuRatio ratio_;
  std::unordered_map<std::string, Known> known_;  // by uid
};

}  // namespace koord::koordlet
