#pragma once

// Acts on the verdicts of interference/ (off by default; gates InterferenceCPUSuppress and InterferenceEvict): while a
// latency-sensitive pod suffers, best effort is held to less and less CPU, and what that does not help against costs a
// best-effort pod. Once a minute, after the detector.

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
  // The most that best effort may use for the sake of those who suffer.
  struct Ceiling {
    std::int64_t milli = 0;
    std::string why;
  };

  InterferenceRelief(Executor& executor, const States& states, const MetricCache& cache,
                     Evictor& evictor, Features features);

  // One round with the verdicts that hold now; an eviction goes on by itself.
  void run(const std::vector<Interference>& suffering);
  // For CPU suppress; nullopt when nobody suffers, or did until a while ago.
  const std::optional<Ceiling>& ceiling() const { return ceiling_; }
  json::value view() const;

 private:
  void hold(const Interference* worst);
  // The task of evicting one pod; nullopt when there is no reason, or nobody to evict.
  std::optional<EvictionTask> evictionFor(const std::vector<Interference>& suffering) const;
  std::vector<EvictionCandidate> victims(std::string_view resource) const;
  Task<void> evict(EvictionTask task);

  Executor& executor_;
  const States& states_;
  const MetricCache& cache_;
  Evictor& evictor_;
  Features features_;
  std::optional<Ceiling> ceiling_;
  std::optional<SteadyTime> atLeastSince_;  // the ceiling cannot be lowered any more
  std::optional<SteadyTime> lastAttempt_;
  bool evicting_ = false;
  std::string lastEviction_, reason_ = "no pod suffers";
  TaskGroup tasks_;
};

}  // namespace koord::koordlet
