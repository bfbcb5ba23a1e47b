#pragma once

// Tasks that end early: at a time limit, or when something else has happened.

#include <exception>
#include <utility>

#include "base/result.h"
#include "base/task.h"

namespace koord {

namespace detail {

// What a task returned or threw.
template <class T>
using Outcome = std::expected<Result<T>, std::exception_ptr>;

template <class T>
Task<void> completeWith(Task<Result<T>> task, Completer<Outcome<T>> done) {
  try {
    auto result = co_await task;
    done.complete(std::move(result));
  } catch (...) {
    done.complete(std::unexpected(std::current_exception()));
  }
}

template <class T>
Task<void> completeWithError(Task<Error> reason, Completer<Outcome<T>> done) {
  Error error = co_await reason;
  Result<T> failed = fail(std::move(error));
  done.complete(std::move(failed));
}

inline Task<Error> errorAfter(Executor* executor, Duration limit, Error error) {
  auto pause = sleepFor(*executor, limit);
  co_await pause;
  co_return error;
}

}  // namespace detail

// What the task returns or throws, unless `reason` ends first: then its error. The other of the two
// is destroyed.
template <class T>
Task<Result<T>> unless(Executor& executor, Task<Error> reason, Task<Result<T>> task) {
  auto [future, completer] = Future<detail::Outcome<T>>::make(executor);
  TaskGroup both;
  both.spawn(detail::completeWith<T>(std::move(task), completer));
  both.spawn(detail::completeWithError<T>(std::move(reason), completer));
  // The completion is posted, so no task of the group is on the stack when this continues.
  auto outcome = co_await future;
  if (!outcome) std::rethrow_exception(outcome.error());
  co_return *std::move(outcome);
}

// What the task returns or throws, or this error after the limit.
template <class T>
Task<Result<T>> withTimeLimit(Executor& executor, Duration limit, Error late,
                              Task<Result<T>> task) {
  return unless(executor, detail::errorAfter(&executor, limit, std::move(late)), std::move(task));
}

}  // namespace koord
