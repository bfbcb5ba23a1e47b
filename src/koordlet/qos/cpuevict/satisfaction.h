#pragma once

// When best-effort pods have so little CPU that some of them should run elsewhere: they use nearly
// all they are allowed (otherwise they want no more), and that is a small part of what they
// requested. Then so much is given up that the others are satisfied. All in milli-cores.

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "api/core.h"
#include "api/slo.h"
#include "koordlet/qos/evictor/evictor.h"

namespace koord::koordlet::cpuevict {

// An error names the percentage that makes no sense.
Result<> checkThresholds(const api::ResourceThresholdStrategy& strategy);

// Whether there are samples for at least a third of the window.
bool enoughSamples(std::int64_t windowSeconds, std::int64_t intervalSeconds, std::int64_t count);
// With less than a core every use is high; without a limit none is.
bool usageIsHigh(double usage, double limit, std::optional<std::int64_t> thresholdPercent);
// How much of what was requested is to go; 0 = nothing.
std::int64_t toRelease(double request, double limit,
                       const api::ResourceThresholdStrategy& strategy);

struct CpuUser {
  std::shared_ptr<const api::Pod> pod;
  std::int64_t requestMilli = 0;  // of batch-cpu
  std::optional<double> cores;
};
// First to go first: by priority where both have one and they differ, else who uses more of what
// he requested.
std::vector<EvictionCandidate> victims(std::vector<CpuUser> pods);

}  // namespace koord::koordlet::cpuevict
