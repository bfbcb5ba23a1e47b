#include "scheduler/plugins/loadawarescheduling/expiry.h"

#include <algorithm>

namespace koord::scheduler {

void Expiry::set(NodeId node, std::optional<WallTime> when) {
  if (node >= times_.size()) times_.resize(node + node / 4 + 1);
  auto& known = times_[node];
  if (known) queue_.erase({*known, node});
  known = when && *when > executor_.wallNow() ? when : std::nullopt;
  if (known) queue_.emplace(*known, node);
  arm();
}

// A timer that fires early costs one check; reports arrive all the time, so the timer is not moved
// for each.
void Expiry::arm() {
  if (queue_.empty()) return;
  const WallTime first = queue_.begin()->first;
  if (timer_ != 0 && *armedFor_ <= first) return;
  executor_.cancel(timer_);
  armedFor_ = first;
  timer_ = executor_.runAfter(std::max(Duration::zero(), first - executor_.wallNow()),
                              [this] { fire(); });
}

void Expiry::fire() {
  timer_ = 0;
  const WallTime now = executor_.wallNow();
  while (!queue_.empty() && queue_.begin()->first <= now) {
    const NodeId node = queue_.begin()->second;
    queue_.erase(queue_.begin());
    times_[node].reset();
    expired_(node);
  }
  arm();
}

}  // namespace koord::scheduler
