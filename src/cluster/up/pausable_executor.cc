#include "cluster/up/pausable_executor.h"

#include <utility>

namespace koord::cluster {

SteadyTime PausableExecutor::steadyNow() const {
  return (paused_ ? pausedAt_ : base_.steadyNow()) - skipped_;
}

void PausableExecutor::pause() {
  if (paused_) return;
  pausedAt_ = base_.steadyNow();
  paused_ = true;
  base_.cancel(std::exchange(timer_, 0));
}

void PausableExecutor::resume() {
  if (!paused_) return;
  skipped_ += base_.steadyNow() - pausedAt_;
  paused_ = false;
  base_.post([this] { runHeld(); });
  arm();
}

void PausableExecutor::post(Callback fn) {
  base_.post([this, fn = std::move(fn)]() mutable {
    // Behind those that waited during a pause.
    if (paused_ || !held_.empty()) {
      held_.push_back(std::move(fn));
    } else {
      fn();
    }
  });
}

void PausableExecutor::runHeld() {
  // Only those that are there now: they may post more.
  for (std::size_t left = held_.size(); left > 0 && !paused_; --left) {
    Callback fn = std::move(held_.front());
    held_.pop_front();
    fn();
  }
  if (!held_.empty() && !paused_) base_.post([this] { runHeld(); });
}

TimerId PausableExecutor::runAt(SteadyTime when, Callback fn) {
  const TimerId id = timers_.add(when, std::move(fn));
  arm();
  return id;
}

void PausableExecutor::arm() {
  const auto next = timers_.next();
  if (paused_ || !next || (timer_ != 0 && armedFor_ <= *next)) return;
  base_.cancel(timer_);
  armedFor_ = *next;
  timer_ = base_.runAt(*next + skipped_, [this] { fire(); });
}

void PausableExecutor::fire() {
  timer_ = 0;
  const SteadyTime now = steadyNow();
  while (!paused_) {
    Callback fn = timers_.takeDue(now);
    if (!fn) break;
    fn();
  }
  arm();
}

}  // namespace koord::cluster
