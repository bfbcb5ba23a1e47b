#include "base/event_loop.h"

#include <pthread.h>

#include <future>
#include <memory>
#include <utility>

namespace koord {

WallTime EventLoop::wallNow() const {
  return std::chrono::system_clock::now();
}

SteadyTime EventLoop::steadyNow() const {
  return std::chrono::steady_clock::now();
}

void EventLoop::post(Callback fn) {
  // Notify under the lock, because a thread that sees the effect may destroy the loop at once.
  std::lock_guard lock(mutex_);
  posted_.push_back(std::move(fn));
  wake_.notify_one();
}

TimerId EventLoop::runAt(SteadyTime when, Callback fn) {
  return timers_.add(when, std::move(fn));
}

void EventLoop::cancel(TimerId timer) {
  timers_.cancel(timer);
}

void EventLoop::run() {
  std::vector<Callback> batch;
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      const auto ready = [this] { return stopped_ || !posted_.empty(); };
      if (const auto next = timers_.next()) {
        wake_.wait_until(lock, *next, ready);
      } else {
        wake_.wait(lock, ready);
      }
      if (std::exchange(stopped_, false)) return;
      batch.swap(posted_);
    }
    for (auto& fn : batch) fn();
    batch.clear();
    // Timers that callbacks set for "now" run on the next turn, so posted work is never starved.
    const auto now = steadyNow();
    while (auto fn = timers_.takeDue(now)) fn();
  }
}

void EventLoop::stop() {
  std::lock_guard lock(mutex_);
  stopped_ = true;
  wake_.notify_one();
}

LoopThread::LoopThread(const char* name) : thread_([this] { loop_.run(); }) {
  pthread_setname_np(thread_.native_handle(), std::string(name).substr(0, 15).c_str());
}

LoopThread::~LoopThread() {
  loop_.stop();
  thread_.join();
}

void LoopThread::runSync(Callback fn) {
  // The thread may still be in set_value() when this function continues.
  auto done = std::make_shared<std::promise<void>>();
  loop_.post([&fn, done] {
    fn();
    done->set_value();
  });
  done->get_future().wait();
}

}  // namespace koord
