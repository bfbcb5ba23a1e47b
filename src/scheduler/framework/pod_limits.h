#pragma once

// PodLimits: offered by a plugin that limits what some pods may have together whatever runs and whatever leaves, as the
// max of a quota does, to plugins that place pods together: what is more than that need not be tried.

#include <string>
#include <utility>
#include <vector>

#include "scheduler/engine/pod_info.h"

namespace koord::scheduler {

// Whose changes may change a limit; waiting pods hear of them.
inline constexpr std::string_view kQuotaResource = "elasticquotas.v1alpha1.scheduling.sigs.k8s.io";

class PodLimits {
 public:
  struct Limit {
    std::string who;        // the same of all pods that it limits: quota "team"
    std::size_t above = 0;  // how many levels above the pod's own
    std::vector<std::pair<ResourceId, std::int64_t>> most;
  };
  virtual ~PodLimits() = default;
  // Those that the requests of the pod count towards as a whole.
  virtual std::vector<Limit> limitsOf(const PodInfo& pod) const = 0;
};

}  // namespace koord::scheduler
