#pragma once

// The order in which the kernel kills processes when memory runs out (gate OOMScoreAdj). A pod's
// annotations set the score of its containers' processes: one for all containers
// (koordinator.sh/oom-score-adj) or one per container (koordinator.sh/oom-score-adj-spec, a JSON
// object by container). Child processes inherit it; the reconciler sets it for other new processes.

#include "koordlet/hooks/hook.h"

namespace koord::koordlet {

// -1000 to 1000; nullopt if the annotations do not name the container or are malformed.
std::optional<int> oomScoreOf(const PodView& pod, std::string_view container);

class OomScoreHook final : public Hook {
 public:
  // Called for each container with a score from annotations.
  using ScoreFn = std::function<void(const PodView&, const std::string& container, int score)>;
  explicit OomScoreHook(const Host& host, ScoreFn onScore = nullptr);
  void prepare(const States&, HookUpdates&) override {}
  void wanted(const PodView& pod, HookUpdates& updates) override;

 private:
  const Host& host_;
  ScoreFn onScore_;
};

}  // namespace koord::koordlet
