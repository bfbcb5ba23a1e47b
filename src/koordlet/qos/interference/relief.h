#pragma once

// Acts on the verdicts of interference/ (off by default; gates InterferenceCPUSuppress and
// InterferenceEvict). While an LS pod suffers from interference, BE pods get less CPU in each
// round; if that does not help, a BE pod is evicted. Runs once a minute, after the detector.

#include "koordlet/interference/detector.h"
#include "koordlet/qos/evictor/evictor.h"

namespace koord::koordlet {

class InterferenceRelief {
 public:
  struct Features {
    bool suppress = false;
    bool evict = false;
    bool any() const { return suppress || evict; }
  };
  // The largest CPU usage of BE pods while LS pods suffer.
  struct Ceiling {
    std::int64_t milli = 0;
    std::string why;
  };

  InterferenceRelief(Executor& executor, const States& states, const MetricCache& cache,
                     Evictor& evictor, Features features);

  // Runs one round with the current verdicts. An eviction runs asynchronously.
  void run(const std::vector<Interference>& interferences);
  // For CPU suppress. nullopt if no pod suffers and the ceiling has risen above the capacity again.
  const std::optional<Ceiling>& ceiling() const { return ceiling_; }
  json::value view() const;

 private:
  void hold(const Interference* worst);
  // The task that evicts one pod; nullopt if there is no reason or no candidate.
  std::optional<EvictionTask> evictionFor(const std::vector<Interference>& interferences) const;
  std::vector<EvictionCandidate> victims(std::string_view resource) const;
  Task<void> evict(EvictionTask task);

  Executor& executor_;
  const States& states_;
  const MetricCache& cache_;
  Evictor& evictor_;
  Features features_;
  std::optional<Ceiling> ceiling_;
  std::optional<SteadyTime> atLeastSince_;  // since when the ceiling is at its minimum
  std::optional<SteadyTime> lastAttempt_;
  bool evicting_ = false;
  std::string lastEviction_, reason_ = "no interference";
  TaskGroup tasks_;
};

}  // namespace koord::koordlet
