#pragma once

// A coroutine that waits for an answer which a Recorder or Replayer delivers within a turn.

#include <coroutine>
#include <memory>
#include <optional>
#include <utility>

namespace koord::scheduler::recording {

template <class T>
struct Pending {
  std::coroutine_handle<> waiter;
  std::optional<T> result;

  void deliver(T value) {
    result.emplace(std::move(value));
    if (waiter) std::exchange(waiter, nullptr).resume();
  }
};

// co_await Answer(pending): owns the pending answer, which dies with the coroutine.
template <class T>
class Answer {
 public:
  explicit Answer(std::shared_ptr<Pending<T>> pending) : pending_(std::move(pending)) {}
  Answer(const Answer&) = delete;
  Answer& operator=(const Answer&) = delete;
  ~Answer() { pending_->waiter = nullptr; }

  bool await_ready() const noexcept { return pending_->result.has_value(); }
  void await_suspend(std::coroutine_handle<> waiter) noexcept { pending_->waiter = waiter; }
  T await_resume() { return std::move(*pending_->result); }

 private:
  std::shared_ptr<Pending<T>> pending_;
};

}  // namespace koord::scheduler::recording
