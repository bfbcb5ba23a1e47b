#pragma once

// A component's only access to time and to its thread. A component is an actor: everything that it
// does runs on one Executor, one callback at a time, so nothing inside it needs a lock.
//
// In production an EventLoop (event_loop.h) drives the executor on one thread; in tests and
// simulations one VirtualLoop (virtual_loop.h) drives all components on virtual time.

#include <chrono>
#include <cstdint>
#include <functional>

namespace koord {

// Wall-clock time, as written into objects. Nanoseconds since the Unix epoch, UTC.
using WallTime = std::chrono::sys_time<std::chrono::nanoseconds>;
// Time for waiting and measuring; no relation to the calendar.
using SteadyTime = std::chrono::time_point<std::chrono::steady_clock, std::chrono::nanoseconds>;
using Duration = std::chrono::nanoseconds;

class Clock {
 public:
  virtual ~Clock() = default;
  virtual WallTime wallNow() const = 0;
  virtual SteadyTime steadyNow() const = 0;
};

using Callback = std::move_only_function<void()>;
using TimerId = std::uint64_t;  // 0 is never a timer

class Executor : public Clock {
 public:
  // Runs fn on this executor later, after everything posted before it. Callable from any thread.
  virtual void post(Callback fn) = 0;
  // Runs fn at or after `when`. On the executor's own thread only, as is cancel.
  virtual TimerId runAt(SteadyTime when, Callback fn) = 0;
  // Cancels a timer. Ignores timers that have fired or are unknown.
  virtual void cancel(TimerId timer) = 0;

  TimerId runAfter(Duration delay, Callback fn) {
    return runAt(steadyNow() + delay, std::move(fn));
  }
};

}  // namespace koord
