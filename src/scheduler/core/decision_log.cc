#include "scheduler/core/decision_log.h"

namespace koord::scheduler {

void DecisionLog::record(const std::string& podKey, Decision decision) {
  auto it = pods_.find(podKey);
  if (it == pods_.end()) {
    if (pods_.size() >= kPods) {
      pods_.erase(pods_.find(*order_.back()));
      order_.pop_back();
    }
    it = pods_.emplace(podKey, Entry{}).first;
    order_.push_front(&it->first);
    it->second.order = order_.begin();
  } else {
    order_.splice(order_.begin(), order_, it->second.order);
  }
  auto& decisions = it->second.decisions;
  if (decisions.size() >= kAttempts) decisions.erase(decisions.begin());
  decisions.push_back(std::move(decision));
}

void DecisionLog::forget(const std::string& podKey) {
  const auto it = pods_.find(podKey);
  if (it == pods_.end()) return;
  order_.erase(it->second.order);
  pods_.erase(it);
}

const std::vector<Decision>* DecisionLog::of(const std::string& podKey) const {
  const auto it = pods_.find(podKey);
  return it == pods_.end() ? nullptr : &it->second.decisions;
}

}  // namespace koord::scheduler
