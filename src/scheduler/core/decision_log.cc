#include "scheduler/core/decision_log.h"

namespace koord::scheduler {

void DecisionLog::record(const std::string& podKey, Decision decision) {
  auto it = pods_.find(podKey);
  if (it == pods_.end()) {
    order_.push_front(podKey);
    it = pods_.emplace(podKey, Entry{{}, order_.begin()}).first;
    if (pods_.size() > kPods) {
      pods_.erase(order_.back());
      order_.pop_back();
    }
  } else {
    order_.splice(order_.begin(), order_, it->second.order);
  }
  auto& decisions = it->second.decisions;
  decisions.push_back(std::move(decision));
  if (decisions.size() > kAttempts) decisions.pop_front();
}

void DecisionLog::forget(const std::string& podKey) {
  const auto it = pods_.find(podKey);
  if (it == pods_.end()) return;
  order_.erase(it->second.order);
  pods_.erase(it);
}

const std::deque<Decision>* DecisionLog::of(const std::string& podKey) const {
  const auto it = pods_.find(podKey);
  return it == pods_.end() ? nullptr : &it->second.decisions;
}

}  // namespace koord::scheduler
