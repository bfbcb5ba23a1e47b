#pragma once

// Whether the webhook server answers, for those who ask often: the proof is a request over TLS to the server itself,
// and whoever reaches the health endpoint may ask as often as he likes. So there is one such request at a time, and
// everybody gets its answer for a second.

#include <functional>
#include <optional>
#include <vector>

#include "base/task.h"

namespace koord::manager {

class Readiness {
 public:
  using Probe = std::function<Task<Result<>>()>;
  Readiness(Executor& executor, Probe probe) : executor_(executor), probe_(std::move(probe)) {}

  // It outlives the task.
  Task<Result<>> ask();

 private:
  Task<void> run();

  Executor& executor_;
  Probe probe_;
  std::optional<Result<>> last_;
  SteadyTime at_{};  // when it was answered
  std::vector<Completer<Result<>>> waiting_;
  TaskGroup tasks_;
};

}  // namespace koord::manager
