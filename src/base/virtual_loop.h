#pragma once

// An Executor on virtual time: time stands still while there is work and jumps to the next timer
// when there is none. Single-threaded and deterministic; all components of a test or simulation
// share one.

#include <deque>

#include "base/executor.h"
#include "base/timer_queue.h"

namespace koord {

class VirtualLoop final : public Executor {
 public:
  // The default start is 2026-01-01T00:00:00Z.
  explicit VirtualLoop(WallTime start = std::chrono::sys_days{std::chrono::year{2026} / 1 / 1});

  WallTime wallNow() const override { return wallStart_ + (now_ - SteadyTime{}); }
  SteadyTime steadyNow() const override { return now_; }
  void post(Callback fn) override { posted_.push_back(std::move(fn)); }
  TimerId runAt(SteadyTime when, Callback fn) override { return timers_.add(when, std::move(fn)); }
  void cancel(TimerId timer) override { timers_.cancel(timer); }

  // Runs what is ready, without moving time.
  void runReady();
  // Moves time forward by `span` and runs everything that becomes due.
  void advance(Duration span);
  // Advances until done() returns true, at most by `limit`; returns the last result of done().
  bool advanceUntil(const std::function<bool()>& done, Duration limit);
  // Shifts the wall clock only, as an administrator or NTP would.
  void jumpWallClock(Duration by) { wallStart_ += by; }

 private:
  bool runOne();

  WallTime wallStart_;
  SteadyTime now_{};
  std::deque<Callback> posted_;
  TimerQueue timers_;
};

}  // namespace koord
