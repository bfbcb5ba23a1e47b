#pragma once

// Which pods are never evicted unless the arguments say so: the rules that the evictors of Koordinator and
// Kubernetes share. A pod with the annotation descheduler.alpha.kubernetes.io/evict is exempt from all of them.

#include <optional>
#include <string>

#include "api/selector.h"
#include "descheduler/framework/pod.h"

namespace koord::descheduler {

// Of which priority on nobody is evicted by default.
inline constexpr std::int32_t kSystemCriticalPriority = 2'000'000'000;
// As an eviction cost: never.
inline constexpr std::int32_t kNeverEvict = 2'147'483'647;

struct EvictorFilter {
  bool evictFailedBarePods = false;
  bool evictAllBarePods = false;
  bool evictLocalStoragePods = false;
  bool evictSystemCriticalPods = false;
  bool ignorePvcPods = false;
  std::optional<std::int32_t> priorityThreshold;  // pods of this priority on stay
  std::optional<api::Selector> labelSelector;     // others stay

  // Why the pod stays; "" = it may go.
  std::string_view refusal(const Pod& pod) const;
};

}  // namespace koord::descheduler
