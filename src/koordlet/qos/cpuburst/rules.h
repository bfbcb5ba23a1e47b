#pragma once

// CPU burst: the rules. A container that is throttled although its node has CPU to spare gets more,
// in two ways. The kernel lets it save up unused quota for later (burst, a fixed amount), and
// koordlet lifts its quota step by step while it is throttled and lowers it when the node's shared
// CPUs fill up (quota burst). Quotas are microseconds per 100 ms; rules are upstream's.

#include <cstdint>
#include <optional>
#include <vector>

#include "api/pod.h"
#include "api/slo_strategies.h"
#include "base/executor.h"
#include "model/qos.h"

namespace koord::koordlet::cpuburst {

// The node's strategy overlaid by the pod's annotation; one that cannot be read says nothing.
api::CPUBurstStrategy strategyFor(const api::Pod& pod, const api::CPUBurstStrategy& node);
bool burstEnabled(const api::CPUBurstStrategy& strategy);       // policy auto or cpuBurstOnly
bool quotaBurstEnabled(const api::CPUBurstStrategy& strategy);  // auto or cfsQuotaBurstOnly

// What a container with that CPU limit may save up, in microseconds; 0 without a limit.
std::int64_t burstUs(std::int64_t limitMilli, const api::CPUBurstStrategy& strategy);

// How full the CPUs are that pods share: those without LSE and LSR pods' requests.
enum class NodeState { Unknown, Idle, Cooling, Overload };
struct PodLoad {
  model::Qos qos = model::Qos::None;  // by label
  std::int64_t requestMilli = 0;
  std::optional<double> cores;
};
NodeState nodeStateOf(std::size_t cpus, std::optional<double> nodeCores,
                      const std::vector<PodLoad>& pods, std::int64_t thresholdPercent);

enum class QuotaStep { Up, Down, Remain, Reset };
// What is left of a container's wish on a node in that state.
QuotaStep onNode(QuotaStep wish, NodeState state);
// A step up is 1.2 times, down 0.8 times what is there, between the container's own quota and the
// percentage of it that the strategy allows.
std::int64_t nextQuota(QuotaStep step, std::int64_t current, std::int64_t base,
                       const api::CPUBurstStrategy& strategy);

// The most that the strategy allows.
std::int64_t mostQuota(std::int64_t base, const api::CPUBurstStrategy& strategy);

// How long a container may be above its limit: a bucket that using more than the limit empties and
// using less than 60% of it fills. One token is one percent of the limit for a second.
class Limiter {
 public:
  // `tokens`: what it begins with.
  Limiter(std::int64_t periodSeconds, std::int64_t percent, std::int64_t tokens, SteadyTime now);
  static std::int64_t capacityOf(std::int64_t periodSeconds, std::int64_t percent) {
    return periodSeconds * (percent - 100);
  }

  // Takes the use since the last call into account, as a percentage of the limit.
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
