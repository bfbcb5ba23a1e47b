#pragma once

// Whether a node is overloaded for good or has a moment: it counts as abnormal when it was found over its
// thresholds in so many cycles in a row, and then until it was found normal in so many cycles in a row, or until
// `timeout` has passed. One round of the other kind begins the count anew. What was not marked for a while
// (detectorCacheTimeout) is forgotten.
//
// Both times are at least two intervals between cycles, or nothing could ever be counted up. Counters are in
// memory: after a restart a node has to prove itself again, which is the cautious way round.

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

  // The node was found over its thresholds; true when it is abnormal.
  bool markOver(const std::string& node, const AnomalyCondition& condition, SteadyTime now);
  void markNormal(const std::string& node, const AnomalyCondition& condition, SteadyTime now);
  // Begins anew.
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
