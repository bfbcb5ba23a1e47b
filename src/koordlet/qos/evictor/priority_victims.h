#pragma once

// Pods up to a priority that have to go because the node lacks CPU or memory: which ones, in which
// order, and how much must come back when more was promised than the node has. The same for both
// resources; amounts are bytes, or milli-cores.

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

// What pods up to `priority` may have requested together, in percent of what the node has, of each
// kind of the resource (cpu, batch-cpu, mid-cpu).
struct PromiseBounds {
  std::int64_t thresholdPercent = 0;
  std::int64_t lowerPercent = 0;  // down to which pods go
  std::int32_t priority = 0;
};
// Both checks name the fields after what they are told they are called: "cpuEvict" or "memoryEvict".
Result<PromiseBounds> promiseBounds(std::string_view fields, std::optional<std::int64_t> threshold,
                                    std::optional<std::int64_t> lower,
                                    std::optional<std::int32_t> priority);
// Threshold and lower bound (two percent below when absent) of the node's usage.
struct UsageBounds {
  std::int64_t thresholdPercent = 0;
  std::int64_t lowerPercent = 0;
};
Result<UsageBounds> usageBounds(std::string_view fields, std::optional<std::int64_t> threshold,
                                std::optional<std::int64_t> lower);

// Those that were promised something: all that run or wait, those that may not be evicted, too.
std::vector<PodUse> promisedPods(const std::vector<PodView>& pods);
// `resource` is "cpu" or "memory". Kinds that are within bounds are left out.
Amounts releaseByPromises(std::string_view resource, const PromiseBounds& bounds,
                          const api::ResourceList& allocatable, const std::vector<PodUse>& pods);

// Pods that asked for it (label koordinator.sh/eviction-enabled), are active, have a sample and a
// priority of at most `priorityThreshold`: by eviction priority, priority, sub-priority, then the
// larger amount first.
std::vector<EvictionCandidate> victimsByUse(std::string_view resource,
                                            const std::vector<PodUse>& pods,
                                            std::int32_t priorityThreshold);
std::vector<EvictionCandidate> victimsByPromise(std::string_view resource,
                                                const std::vector<PodUse>& pods,
                                                std::int32_t priorityThreshold);

}  // namespace koord::koordlet
