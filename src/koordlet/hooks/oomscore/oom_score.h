#pragma once

// Whom the kernel kills first when memory runs out (gate OOMScoreAdj): annotations of a pod set the
// score of its containers' processes, all alike (koordinator.sh/oom-score-adj) or each its own
// (koordinator.sh/oom-score-adj-spec, a JSON object by container). Processes that are made later
// inherit it; the reconciler looks again for those that came otherwise.

#include "koordlet/hooks/hook.h"

namespace koord::koordlet {

// -1000 to 1000; nullopt where the annotations say nothing of the container, or nonsense.
std::optional<int> oomScoreOf(const PodView& pod, std::string_view container);

class OomScoreHook final : public Hook {
 public:
  // Told of each container with a score of its own.
  using ScoreFn = std::function<void(const PodView&, const std::string& container, int score)>;
  explicit OomScoreHook(const Host& host, ScoreFn onScore = nullptr);
  void prepare(const States&, HookUpdates&) override {}
  void wanted(const PodView& pod, HookUpdates& updates) override;

 private:
  const Host& host_;
  ScoreFn onScore_;
};

}  // namespace koord::koordlet
