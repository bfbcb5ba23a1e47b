#pragma once

// An Executor whose callbacks and timers wait while it is paused, and whose steady clock stands
// still meanwhile: actors on it notice nothing of a pause but the jump of the wall clock.
//
// Uses the thread of another Executor, which must be thread-safe and must not run after this object
// is destroyed. post() may be called from any thread, all else from the executor's thread only.

#include <deque>

#include "base/executor.h"
#include "base/timer_queue.h"

namespace koord::cluster {

class PausableExecutor final : public Executor {
 public:
  explicit PausableExecutor(Executor& base) : base_(base) {}
  ~PausableExecutor() { base_.cancel(timer_); }
  PausableExecutor(const PausableExecutor&) = delete;
  PausableExecutor& operator=(const PausableExecutor&) = delete;

  void pause();
  void resume();
  bool isPaused() const { return paused_; }

  WallTime wallNow() const override { return base_.wallNow(); }
  SteadyTime steadyNow() const override;
  void post(Callback fn) override;
  TimerId runAt(SteadyTime when, Callback fn) override;
  void cancel(TimerId timer) override { timers_.cancel(timer); }

 private:
  void runHeld();
  void arm();
  void fire();

  Executor& base_;
  bool paused_ = false;
  SteadyTime pausedAt_{};  // of the base
  Duration skipped_{};     // the length of all pauses so far
  std::deque<Callback> held_;
  TimerQueue timers_;      // on this clock
  TimerId timer_ = 0;      // of the base, for the next one of timers_
  SteadyTime armedFor_{};  // on this clock
};

}  // namespace koord::cluster
