#pragma once

// SelfCheck: counts a few nodes afresh every second, in every ledger, and says where what is kept
// differs from what the node's pods add up to. A difference is a bug; it must not stay a mystery
// until somebody wonders why a node is full. What can be worked out anew is, at once.

#include "base/executor.h"
#include "scheduler/engine/cluster.h"
#include "scheduler/framework/observer.h"

namespace koord::scheduler {

class SelfCheck {
 public:
  // All must outlive it; observer may be nullptr.
  SelfCheck(Executor& executor, Cluster& cluster, Observer* observer)
      : executor_(executor), cluster_(cluster), observer_(observer) {}
  ~SelfCheck() { executor_.cancel(timer_); }
  SelfCheck(const SelfCheck&) = delete;
  SelfCheck& operator=(const SelfCheck&) = delete;

  void start();

 private:
  void check();

  Executor& executor_;
  Cluster& cluster_;
  Observer* observer_;
  NodeId next_ = 0;
  TimerId timer_ = 0;
};

}  // namespace koord::scheduler
