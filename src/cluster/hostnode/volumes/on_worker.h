#pragma once

// Blocking work, outside of an actor's thread.

#include <type_traits>

#include "base/task.h"

namespace koord::cluster {

// Runs `fn` on `worker` and returns the result on `executor`.
template <class Fn>
auto onWorker(Executor& executor, Executor& worker, Fn fn) {
  using T = std::invoke_result_t<Fn&>;
  auto [future, completer] = Future<T>::make(executor);
  worker.post([fn = std::move(fn), completer = std::move(completer)]() mutable {
    completer.complete(fn());
  });
  return std::move(future);
}

}  // namespace koord::cluster
