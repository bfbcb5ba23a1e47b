#pragma once

// A limit for a task of many steps, each of which may take long.

#include <utility>

#include "base/result.h"
#include "base/task.h"

namespace koord {

namespace detail {

template <class T>
Task<void> completeWith(Task<Result<T>> task, Completer<Result<T>> done) {
  auto result = co_await task;
  done.complete(std::move(result));
}

template <class T>
Task<void> completeLater(Executor* executor, Duration limit, Error error,
                         Completer<Result<T>> done) {
  auto pause = sleepFor(*executor, limit);
  co_await pause;
  done.complete(fail(std::move(error)));
}

}  // namespace detail

// What the task returns, or this error after the limit; the task is destroyed then.
template <class T>
Task<Result<T>> withTimeLimit(Executor& executor, Duration limit, Error late,
                              Task<Result<T>> task) {
  auto [future, completer] = Future<Result<T>>::make(executor);
  TaskGroup both;
  both.spawn(detail::completeWith<T>(std::move(task), completer));
  both.spawn(detail::completeLater<T>(&executor, limit, std::move(late), completer));
  // The completion is posted, so no task of the group is on the stack when this continues.
  auto result = co_await future;
  co_return result;
}

}  // namespace koord
