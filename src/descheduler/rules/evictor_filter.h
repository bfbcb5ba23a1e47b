#pragma once

// Finds pods that are not evicted unless the arguments allow it: the common rules of Koordinator's
// and Kubernetes' evictors. A pod with the annotation descheduler.alpha.kubernetes.io/evict is
// exempt from all of them.

#include <optional>
#include <string>

#include "api/selector.h"
#include "descheduler/framework/pod.h"

namespace koord::descheduler {

// By default pods of this priority or higher are not evicted.
inline constexpr std::int32_t kSystemCriticalPriority = 2'000'000'000;
// An eviction cost that means never.
inline constexpr std::int32_t kNeverEvict = 2'147'483'647;

struct EvictorFilter {
  bool evictFailedBarePods = false;
  bool evictAllBarePods = false;
  bool evictLocalStoragePods = false;
  bool evictSystemCriticalPods = false;
  bool ignorePvcPods = false;
  std::optional<std::int32_t> priorityThreshold;  // pods of this priority or higher stay
  std::optional<api::Selector> labelSelector;     // other pods stay

  // Why the pod must stay; "" if it may be evicted.
  std::string_view refusal(const Pod& pod) const;
};

}  // namespace koord::descheduler
