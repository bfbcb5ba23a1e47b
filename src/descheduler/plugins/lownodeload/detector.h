#pragma once

// Distinguishes lasting overload from peaks: a node becomes abnormal when it is over its thresholds
// in a number of consecutive cycles. It stays abnormal until it is normal in a number of
// consecutive cycles, or until `timeout` has passed. A cycle of the other kind restarts the count.
// Nodes that are not marked for detectorCacheTimeout are dropped.
//
// Both times are at least two intervals between cycles; otherwise no count could reach its limit.
// Counters are in memory: after a restart they start at 0, which is the cautious choice.

#include <map>
#include <string>

#include "base/executor.h"
#include "descheduler/plugins/lownodeload/args.h"

namespace koord::descheduler {

class AnomalyDetectors {
 public:
  // interval: between cycles.
  AnomalyDetectors(Duration forgottenAfter, Duration interval)
      : forgottenAfter_(std::max(forgottenAfter, 2 * interval)), interval_(interval) {}

  // Call if the node is over its thresholds. Returns true if it is abnormal.
  bool markOver(const std::string& node, const AnomalyCondition& condition, SteadyTime now);
  void markNormal(const std::string& node, const AnomalyCondition& condition, SteadyTime now);
  // Restarts the node's count.
  void reset(const std::string& node) { states_.erase(node); }
  void forget(SteadyTime now);
  std::size_t size() const { return states_.size(); }

 private:
  struct State {
    bool abnormal = false;
    std::int64_t over = 0;
    std::int64_t normal = 0;
    SteadyTime abnormalUntil{};
    SteadyTime marked{};
  };

  Duration forgottenAfter_;
  Duration interval_;
  std::map<std::string, State> states_;
};

}  // namespace koord::descheduler
