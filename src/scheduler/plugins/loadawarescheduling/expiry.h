#pragma once

// Expiry: when the reports of nodes expire. The plugin's verdict on a node then changes without an
// event, so the node is marked as changed. It uses one timer, for the oldest report.

#include <functional>
#include <set>
#include <vector>

#include "base/executor.h"
#include "scheduler/engine/node_set.h"

namespace koord::scheduler {

class Expiry {
 public:
  // expired is called with the node when its time has come.
  Expiry(Executor& executor, std::function<void(NodeId)> expired)
      : executor_(executor), expired_(std::move(expired)) {}
  ~Expiry() { executor_.cancel(timer_); }
  Expiry(const Expiry&) = delete;
  Expiry& operator=(const Expiry&) = delete;

  // nullopt: never. A time in the past is not reported.
  void set(NodeId node, std::optional<WallTime> when);
  // Returns true if a time is set that is still to come.
  bool watches(NodeId node) const { return node < times_.size() && times_[node]; }
  // Returns true if all expired nodes have been reported. A timer may be late.
  bool allReported(WallTime now) const { return queue_.empty() || queue_.begin()->first > now; }

 private:
  void arm();
  void fire();

  Executor& executor_;
  std::function<void(NodeId)> expired_;
  std::set<std::pair<WallTime, NodeId>> queue_;
  std::vector<std::optional<WallTime>> times_;  // by node
  TimerId timer_ = 0;
  std::optional<WallTime> armedFor_;
};

}  // namespace koord::scheduler
