#pragma once

// Expiry: when reports of nodes become too old. What a plugin says of a node changes then though
// nothing has happened, so the node is marked as changed. One timer, for the oldest report.

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

  // nullopt: never. A time that is past is not told of.
  void set(NodeId node, std::optional<WallTime> when);
  // Whether a time is set that has not come.
  bool watches(NodeId node) const { return node < times_.size() && times_[node]; }
  // Whether all have been told of whose time has come. A timer may be late.
  bool told(WallTime now) const { return queue_.empty() || queue_.begin()->first > now; }

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
