#pragma once

// RequestLane: requests that share a client-side limit of requests per second (rate_limit.h) and of
// requests in flight. The latter keeps a burst of thousands of requests from opening thousands of
// connections to servers without HTTP/2, and from overloading servers with it. Executor's thread
// only.

#include <coroutine>
#include <list>

#include "base/executor.h"
#include "kube/rate_limit.h"

namespace koord::kube {

class RequestLane {
 public:
  RequestLane(Executor& executor, RateLimit limit, std::size_t atOnce)
      : executor_(executor), limit_(limit), free_(atOnce) {}

  // Returns how long to wait for the limit of requests per second.
  Duration reserve() { return limit_.reserve(executor_.steadyNow()); }

  // co_await it for a slot among the requests in flight, in order of arrival. Its destructor
  // releases the slot. It must not outlive the lane.
  class [[nodiscard]] Place {
   public:
    explicit Place(RequestLane& lane) : lane_(lane) {}
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    ~Place() {
      if (timer_ != 0) lane_.executor_.cancel(timer_);
      if (held_) {
        lane_.release();
      } else if (waiter_) {
        lane_.waiting_.remove(this);
      }
    }

    bool await_ready() {
      if (lane_.free_ == 0) return false;
      --lane_.free_;
      held_ = true;
      return true;
    }
    void await_suspend(std::coroutine_handle<> waiter) {
      waiter_ = waiter;
      lane_.waiting_.push_back(this);
    }
    void await_resume() noexcept {}

   private:
    friend class RequestLane;
    // Resume later: the caller that released the slot is still running.
    void take() {
      held_ = true;
      timer_ = lane_.executor_.runAt(lane_.executor_.steadyNow(), [this] {
        timer_ = 0;
        waiter_.resume();
      });
    }

    RequestLane& lane_;
    std::coroutine_handle<> waiter_;
    TimerId timer_ = 0;
    bool held_ = false;
  };

 private:
  void release() {
    if (waiting_.empty()) {
      ++free_;
      return;
    }
    Place* next = waiting_.front();
    waiting_.pop_front();
    next->take();
  }

  Executor& executor_;
  RateLimit limit_;
  std::size_t free_;
  std::list<Place*> waiting_;
};

}  // namespace koord::kube
