#pragma once

// When moves and waiting pods were refused, by key, in all rounds, so that others are tried first.
// Bounded: forgets all if it is full.

#include <string>
#include <unordered_map>

#include "base/time.h"

namespace koord::descheduler {

class Refusals {
 public:
  void add(const std::string& key, SteadyTime now) {
    if (at_.size() >= kMost) at_.clear();
    at_[key] = now;
  }
  // SteadyTime::min() = never.
  SteadyTime last(const std::string& key) const {
    const auto known = at_.find(key);
    return known == at_.end() ? SteadyTime::min() : known->second;
  }
  bool empty() const { return at_.empty(); }

 private:
  static constexpr std::size_t kMost = 4096;

  std::unordered_map<std::string, SteadyTime> at_;
};

}  // namespace koord::descheduler
