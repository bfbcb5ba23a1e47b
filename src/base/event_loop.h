#pragma once

// The production Executor: one thread, real time. The thread that calls run() is the actor's
// thread.

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "base/executor.h"
#include "base/timer_queue.h"

namespace koord {

class EventLoop final : public Executor {
 public:
  WallTime wallNow() const override;
  SteadyTime steadyNow() const override;
  void post(Callback fn) override;
  TimerId runAt(SteadyTime when, Callback fn) override;
  void cancel(TimerId timer) override;

  // Runs callbacks and timers until stop(). May be called again to run the remaining callbacks;
  // otherwise they are dropped with the loop.
  void run();
  // Makes run() return soon. Callable from any thread, also from a callback.
  void stop();

 private:
  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<Callback> posted_;  // guarded by mutex_
  bool stopped_ = false;          // guarded by mutex_
  TimerQueue timers_;             // loop thread only
};

// An EventLoop on a thread of its own. The destructor stops the loop and joins the thread; destroy
// what runs on it first, or post its destruction.
class LoopThread {
 public:
  explicit LoopThread(const char* name);  // at most 15 characters are shown by the kernel
  ~LoopThread();
  LoopThread(const LoopThread&) = delete;
  LoopThread& operator=(const LoopThread&) = delete;

  EventLoop& loop() { return loop_; }
  // Runs fn on the loop and waits for its end. Do not call it on the loop's own thread.
  void runSync(Callback fn);

 private:
  EventLoop loop_;
  std::thread thread_;
};

}  // namespace koord
