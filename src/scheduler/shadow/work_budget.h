#pragma once

// WorkBudget: limits the share of time that work takes. Time accrues at `share` of the clock, up to
// what a second gives; work spends it, and may overdraw it once. Above the limit the caller skips
// work, so that the rest of the thread's work does not fall behind.

#include <algorithm>

#include "base/executor.h"

namespace koord::scheduler {

class WorkBudget {
 public:
  // share: in percent, 1 to 100.
  WorkBudget(int share, SteadyTime now) : share_(share), left_(full()), since_(now) {}

  bool mayWork(SteadyTime now) {
    left_ = std::min(full(), left_ + (now - since_) * share_ / 100);
    since_ = now;
    return left_ > Duration::zero();
  }
  // When the work that began at the last mayWork() has used up what is left, until it is spent.
  SteadyTime end() const { return since_ + left_; }
  void spend(Duration took) { left_ -= took; }

 private:
  Duration full() const { return Duration(std::chrono::seconds(1)) * share_ / 100; }

  const int share_;
  Duration left_;
  SteadyTime since_;
};

}  // namespace koord::scheduler
