#pragma once

// PodLimits: offered by a plugin that limits the total of some pods, whatever runs or is evicted
// (the max of a quota), to plugins that place pods together: they need not try more pods than the
// limit allows.

#include <string>
#include <utility>
#include <vector>

#include "scheduler/engine/pod_info.h"

namespace koord::scheduler {

// A change of this resource may change a limit; it wakes waiting pods.
inline constexpr std::string_view kQuotaResource = "elasticquotas.v1alpha1.scheduling.sigs.k8s.io";

class PodLimits {
 public:
  struct Limit {
    std::string who;        // equal for all pods under this limit: quota "team"
    std::size_t above = 0;  // how many levels above the pod's own
    std::vector<std::pair<ResourceId, std::int64_t>> most;
  };
  virtual ~PodLimits() = default;
  // The limits that all requests of the pod count towards.
  virtual std::vector<Limit> limitsOf(const PodInfo& pod) const = 0;
};

}  // namespace koord::scheduler
