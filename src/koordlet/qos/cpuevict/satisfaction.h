#pragma once

// CPU satisfaction of BE pods: limit / request. Some of them should run elsewhere if they use
// nearly all of their limit (otherwise they need no more) and the limit is a small part of their
// requests. The amount to release is such that the other BE pods are satisfied. All in milli-cores.

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "api/core.h"
#include "api/slo.h"
#include "koordlet/qos/evictor/evictor.h"

namespace koord::koordlet::cpuevict {

// An error names the invalid percentage.
Result<> checkThresholds(const api::ResourceThresholdStrategy& strategy);

// Returns true if there are samples for at least a third of the window.
bool enoughSamples(std::int64_t windowSeconds, std::int64_t intervalSeconds, std::int64_t count);
// Returns true if usage / limit reaches the threshold. With a limit below one core every usage is
// high; without a limit none is.
bool usageIsHigh(double usage, double limit, std::optional<std::int64_t> thresholdPercent);
// Returns how much of the requests to release; 0 = nothing.
std::int64_t toRelease(double request, double limit,
                       const api::ResourceThresholdStrategy& strategy);

// What BE pods use, request and may use, in milli-cores.
struct BestEffortUse {
  double usage = 0, request = 0, limit = 0;
};
// Returns how much of the requests to release if both the averages over the window and the newest
// samples show starved pods: the smaller amount of both, so that a burst which is over evicts no
// pod. Without newest samples 0.
std::int64_t toRelease(const BestEffortUse& average, const std::optional<BestEffortUse>& newest,
                       const api::ResourceThresholdStrategy& strategy);

struct CpuUser {
  std::shared_ptr<const api::Pod> pod;
  std::int64_t requestMilli = 0;  // of batch-cpu
  std::optional<double> cores;
};
// Victims in the order of eviction: by priority where both have one and they differ, else the pod
// that uses more of its request first.
std::vector<EvictionCandidate> victims(std::vector<CpuUser> pods);

}  // namespace koord::koordlet::cpuevict
