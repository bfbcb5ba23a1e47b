#pragma once

// Bytes between the callback of a connection, which gives them, and one coroutine, which takes
// them. On one executor. Destroy the waiting coroutine before the queue.

#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/task.h"

namespace koord::cluster {

class ByteQueue {
 public:
  explicit ByteQueue(Executor& executor) : executor_(executor) {}

  // Returns how many of the bytes it keeps: none after the end.
  std::size_t push(std::string_view bytes) {
    if (ended_ || bytes.empty()) return 0;
    pieces_.emplace_back(bytes);
    wake();
    return bytes.size();
  }
  void end() {
    ended_ = true;
    wake();
  }

  // nullopt at the end.
  Task<std::optional<std::string>> next() {
    while (pieces_.empty()) {
      if (ended_) co_return std::nullopt;
      auto [future, completer] = Future<bool>::make(executor_);
      waiter_ = completer;
      co_await future;
    }
    std::string piece = std::move(pieces_.front());
    pieces_.pop_front();
    if (pieces_.empty() && producer_) std::exchange(producer_, std::nullopt)->complete(true);
    co_return piece;
  }
  // For the producer: waits until all bytes were taken.
  Task<void> drained() {
    if (pieces_.empty()) co_return;
    auto [future, completer] = Future<bool>::make(executor_);
    producer_ = completer;
    auto waiting = std::move(future);
    co_await waiting;
  }

 private:
  void wake() {
    if (waiter_) waiter_->complete(true);
    waiter_.reset();
  }

  Executor& executor_;
  std::deque<std::string> pieces_;
  std::optional<Completer<bool>> waiter_;
  std::optional<Completer<bool>> producer_;
  bool ended_ = false;
};

}  // namespace koord::cluster
