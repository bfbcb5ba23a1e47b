#pragma once

// Victims up to a priority when the node lacks CPU or memory: which pods, in which order, and how
// much to release when their requests exceed the node's allocatable. The same for both resources;
// amounts are bytes or milli-cores.

#include <optional>
#include <vector>

#include "api/core.h"
#include "base/result.h"
#include "koordlet/qos/evictor/evictor.h"
#include "koordlet/states/pod_view.h"

namespace koord::koordlet {

struct PodUse {
  std::shared_ptr<const api::Pod> pod;
  std::optional<std::int64_t> used;  // absent without a sample
};

// Bounds on the sum of requests of pods up to `priority`, in percent of the node's allocatable, for
// each kind of the resource (cpu, batch-cpu, mid-cpu).
struct RequestBounds {
  std::int64_t thresholdPercent = 0;
  std::int64_t lowerPercent = 0;  // evictions stop at this
  std::int32_t priority = 0;
};
// Both checks build the field names in errors from the prefix `fields`: "cpuEvict" or
// "memoryEvict".
Result<RequestBounds> requestBounds(std::string_view fields, std::optional<std::int64_t> threshold,
                                    std::optional<std::int64_t> lower,
                                    std::optional<std::int32_t> priority);
// Threshold and lower bound (two percent below if absent) of the node's usage.
struct UsageBounds {
  std::int64_t thresholdPercent = 0;
  std::int64_t lowerPercent = 0;
};
Result<UsageBounds> usageBounds(std::string_view fields, std::optional<std::int64_t> threshold,
                                std::optional<std::int64_t> lower);

// The pods whose requests count: all running and pending ones, including those that may not be
// evicted.
std::vector<PodUse> countedPods(const std::vector<PodView>& pods);
// Returns the amounts to release. `resource` is "cpu" or "memory". Omits kinds within the bounds.
Amounts releaseByRequests(std::string_view resource, const RequestBounds& bounds,
                          const api::ResourceList& allocatable, const std::vector<PodUse>& pods);

// Active pods that allow eviction (label koordinator.sh/eviction-enabled), have a sample and a
// priority of at most `priorityThreshold`. Order: eviction priority, priority, sub-priority, then
// the larger amount first.
std::vector<EvictionCandidate> victimsByUse(std::string_view resource,
                                            const std::vector<PodUse>& pods,
                                            std::int32_t priorityThreshold);
std::vector<EvictionCandidate> victimsByRequest(std::string_view resource,
                                                const std::vector<PodUse>& pods,
                                                std::int32_t priorityThreshold);

}  // namespace koord::koordlet
