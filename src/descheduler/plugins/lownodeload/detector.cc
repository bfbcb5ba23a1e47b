#include "descheduler/plugins/lownodeload/detector.h"

namespace koord::descheduler {

bool AnomalyDetectors::markOver(const std::string& node, const AnomalyCondition& condition,
                                SteadyTime now) {
  State& state = states_[node];
  if (state.abnormal && now >= state.abnormalUntil) state = {};
  state.marked = now;
  state.normal = 0;
  ++state.over;
  if (!state.abnormal && state.over >= condition.consecutiveAbnormalities) {
    state.abnormal = true;
    state.abnormalUntil = now + std::max(condition.timeout, 2 * interval_);
  }
  return state.abnormal;
}

void AnomalyDetectors::markNormal(const std::string& node, const AnomalyCondition& condition,
                                  SteadyTime now) {
  const auto found = states_.find(node);
  if (found == states_.end()) return;
  State& state = found->second;
  state.marked = now;
  state.over = 0;
  ++state.normal;
  if (!state.abnormal || state.normal >= condition.consecutiveNormalities ||
      now >= state.abnormalUntil)
    states_.erase(found);
}

void AnomalyDetectors::forget(SteadyTime now) {
  std::erase_if(states_,
                [&](const auto& entry) { return now - entry.second.marked >= forgottenAfter_; });
}

}  // namespace koord::descheduler
