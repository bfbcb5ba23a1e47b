#pragma once

// Pauses: lets other requests run while the policies of one request are evaluated. The server has
// one thread, and policies may use seconds of it: each binding and each parameter has the whole
// budget of costs.

#include <cstdint>

#include "base/executor.h"
#include "base/task.h"

namespace koord::apiserver {

class Pauses {
 public:
  // Takes some milliseconds. Requests with usual policies cost less.
  static constexpr std::uint64_t kCostBetween = 50'000;

  explicit Pauses(Executor& executor) : executor_(executor) {}

  // Call after expressions of this cost were evaluated. Returns true if pause() is due.
  bool afterCost(std::uint64_t cost) {
    cost_ += cost;
    return cost_ >= kCostBetween;
  }
  // Ends after the tasks of the executor that were due before.
  Task<void> pause() {
    cost_ = 0;
    auto sleeping = sleepFor(executor_, Duration::zero());
    co_await sleeping;
  }

 private:
  Executor& executor_;
  std::uint64_t cost_ = 0;
};

}  // namespace koord::apiserver
