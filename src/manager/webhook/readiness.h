#pragma once

// Checks that the webhook server answers, by a request over TLS to the server itself. Any client of
// the health endpoint may ask at any rate, so only one such request runs at a time, and all callers
// get its answer for a second.

#include <functional>
#include <optional>
#include <vector>

#include "base/task.h"

namespace koord::manager {

class Readiness {
 public:
  using Probe = std::function<Task<Result<>>()>;
  Readiness(Executor& executor, Probe probe) : executor_(executor), probe_(std::move(probe)) {}

  // This object must outlive the task.
  Task<Result<>> ask();

 private:
  Task<void> run();

  Executor& executor_;
  Probe probe_;
  std::optional<Result<>> last_;
  SteadyTime at_{};  // time of last_
  std::vector<Completer<Result<>>> waiting_;
  TaskGroup tasks_;
};

}  // namespace koord::manager
