#pragma once

// An Executor that also waits for descriptors, so that an actor reads and writes sockets in its own
// thread. Linux's epoll, level-triggered.
//
//   IoLoop loop;
//   auto watch = loop.watch(fd, [&](IoLoop::Ready ready) { ... });
//   watch->want({.read = true});
//   loop.run();

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/executor.h"
#include "base/timer_queue.h"

namespace koord::net {

class IoLoop final : public Executor {
 public:
  struct Ready {
    bool read = false;  // also if the other end has closed, which the read reports
    bool write = false;
  };
  using OnReady = std::function<void(Ready)>;

  // Watches a descriptor until it is destroyed, which must be before the descriptor is closed.
  class Watch {
   public:
    ~Watch();
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;
    void want(Ready interest);

   private:
    friend class IoLoop;
    Watch(IoLoop& loop, int fd, std::uint64_t id) : loop_(loop), fd_(fd), id_(id) {}
    IoLoop& loop_;
    int fd_;
    std::uint64_t id_;
    Ready interest_;
  };

  IoLoop();
  ~IoLoop();
  IoLoop(const IoLoop&) = delete;
  IoLoop& operator=(const IoLoop&) = delete;

  WallTime wallNow() const override;
  SteadyTime steadyNow() const override;
  void post(Callback fn) override;
  TimerId runAt(SteadyTime when, Callback fn) override;
  void cancel(TimerId timer) override;

  // On the loop's thread, or before it runs. Watches nothing until want() is called.
  std::unique_ptr<Watch> watch(int fd, OnReady onReady);

  // Runs callbacks, timers and ready descriptors until stop().
  void run();
  // From any thread.
  void stop();

 private:
  void wait();
  void runPosted();

  int epoll_;
  int wake_;  // an eventfd
  std::mutex mutex_;
  std::vector<Callback> posted_;      // guarded by mutex_
  std::atomic<bool> waiting_{false};  // in epoll_wait, or about to be
  std::atomic<bool> stopped_{false};
  TimerQueue timers_;
  std::uint64_t lastId_ = 0;
  std::unordered_map<std::uint64_t, std::shared_ptr<OnReady>> watched_;
};

// An IoLoop on a thread of its own. Destroy the loop's users first, on the loop (runSync).
class IoThread {
 public:
  explicit IoThread(const char* name);
  ~IoThread();
  IoThread(const IoThread&) = delete;
  IoThread& operator=(const IoThread&) = delete;

  IoLoop& loop() { return loop_; }
  // Runs fn on the loop and waits for its end. Not from the loop's own thread.
  void runSync(Callback fn);

 private:
  IoLoop loop_;
  std::thread thread_;
};

}  // namespace koord::net
