#pragma once

// Runs a function on a thread of its own, for work of many milliseconds that must not hold up an
// actor, such as reading a document of megabytes.

#include <thread>
#include <type_traits>
#include <utility>

#include "base/task.h"

namespace koord {

// Returns what fn returns. The executor must be thread-safe (EventLoop). To destroy the task takes
// until fn has ended, so what fn refers to needs to outlive the task only.
template <class Fn>
Task<std::invoke_result_t<Fn&>> aside(Executor& executor, Fn fn) {
  auto [future, completer] = Future<std::invoke_result_t<Fn&>>::make(executor);
  const std::jthread thread([&fn, completer = completer]() mutable { completer.complete(fn()); });
  auto result = co_await future;
  co_return result;
}

}  // namespace koord
