#pragma once

// CPU burst: the rules. A container that is throttled although its node has free CPU gets more, in
// two ways. The kernel accumulates its unused quota up to a fixed amount (CPU burst), and koordlet
// raises its quota step by step while it is throttled and lowers it when the node's shared CPUs
// fill up (CFS quota burst). Quotas are microseconds per 100 ms; the rules are upstream's.

#include <cstdint>
#include <optional>
#include <vector>

#include "api/pod.h"
#include "api/slo_strategies.h"
#include "base/executor.h"
#include "model/qos.h"

namespace koord::koordlet::cpuburst {

// The node's strategy overlaid by the pod's annotation. A malformed annotation is ignored.
api::CPUBurstStrategy strategyFor(const api::Pod& pod, const api::CPUBurstStrategy& node);
bool burstEnabled(const api::CPUBurstStrategy& strategy);       // policy auto or cpuBurstOnly
bool quotaBurstEnabled(const api::CPUBurstStrategy& strategy);  // auto or cfsQuotaBurstOnly

// The burst of a container with that CPU limit, in microseconds; 0 without a limit.
std::int64_t burstUs(std::int64_t limitMilli, const api::CPUBurstStrategy& strategy);

// Load of the CPUs that pods share: all except those that LSE and LSR pods request.
enum class NodeState { Unknown, Idle, Cooling, Overload };
struct PodLoad {
  model::Qos qos = model::Qos::None;  // by label
  std::int64_t requestMilli = 0;
  std::optional<double> cores;
};
NodeState nodeStateOf(std::size_t cpus, std::optional<double> nodeCores,
                      const std::vector<PodLoad>& pods, std::int64_t thresholdPercent);

enum class QuotaStep { Up, Down, Remain, Reset };
// The step that a container wants, before the node is considered. allowed: its limiter has tokens.
// throttled: the share of its newest periods, if known.
QuotaStep wantedStep(const api::CPUBurstStrategy& strategy, bool allowed,
                     std::optional<double> throttled);
// The step that a node in that state allows a container that wants `wanted`.
QuotaStep onNode(QuotaStep wanted, NodeState state);
// The quota after a step: up is 1.2 times, down 0.8 times the current one. It stays between the
// base quota and the percentage of it that the strategy allows.
std::int64_t nextQuota(QuotaStep step, std::int64_t current, std::int64_t base,
                       const api::CPUBurstStrategy& strategy);

// The largest quota that the strategy allows.
std::int64_t maxQuota(std::int64_t base, const api::CPUBurstStrategy& strategy);

// Bounds how long a container may use more than its limit. A token bucket: use above the limit
// removes tokens, use below 60% of it adds some. One token is one percent of the limit for a
// second.
class Limiter {
 public:
  // `tokens`: the initial number.
  Limiter(std::int64_t periodSeconds, std::int64_t percent, std::int64_t tokens, SteadyTime now);
  static std::int64_t capacityOf(std::int64_t periodSeconds, std::int64_t percent) {
    return periodSeconds * (percent - 100);
  }

  // Accounts for the use since the last call, in percent of the limit. Returns true if tokens are
  // left.
  bool allow(std::int64_t usagePercent, SteadyTime now);
  std::int64_t tokens() const { return tokens_; }
  std::int64_t capacity() const { return capacity_; }
  bool expired(SteadyTime now) const { return now - updated_ > expiry_; }

 private:
  std::int64_t capacity_;
  std::int64_t tokens_;
  SteadyTime updated_;
  Duration expiry_;
};

}  // namespace koord::koordlet::cpuburst
