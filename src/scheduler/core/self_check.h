#pragma once

// SelfCheck: recounts a few nodes in every ledger each second and logs where the ledger differs
// from the node's pods. A difference is a bug; this finds it before users see a wrongly full node.
// Ledgers that can be recomputed are repaired at once.

#include "base/executor.h"
#include "scheduler/engine/cluster.h"
#include "scheduler/framework/observer.h"

namespace koord::scheduler {

class SelfCheck {
 public:
  // Arguments must outlive it; observer may be nullptr.
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
