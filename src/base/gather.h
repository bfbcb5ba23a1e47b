#pragma once

// Runs tasks of one actor at the same time.

#include <exception>
#include <utility>
#include <vector>

#include "base/task.h"

namespace koord {

namespace detail {

template <class T>
struct GatherState {
  std::vector<T> results;
  std::size_t running = 0;
  std::exception_ptr thrown;  // by the first task that threw
};

template <class T>
Task<void> gatherOne(Task<T> task, GatherState<T>* state, std::size_t at, Completer<bool> all) {
  try {
    T result = co_await task;
    state->results[at] = std::move(result);
  } catch (...) {
    if (!state->thrown) state->thrown = std::current_exception();
  }
  if (--state->running == 0) all.complete(true);
}

}  // namespace detail

// Starts all tasks, waits until the last one has ended, and returns their results in order. T must
// have a default value. The first exception that leaves one of them is thrown in the end.
template <class T>
Task<std::vector<T>> gather(Executor& executor, std::vector<Task<T>> tasks) {
  detail::GatherState<T> state;
  if (tasks.empty()) co_return std::move(state.results);
  state.results.resize(tasks.size());
  state.running = tasks.size();
  auto [done, completer] = Future<bool>::make(executor);
  TaskGroup group;
  for (std::size_t i = 0; i < tasks.size(); ++i)
    group.spawn(detail::gatherOne<T>(std::move(tasks[i]), &state, i, completer));
  // The completion is posted, so no task of the group is on the stack when this continues.
  co_await done;
  if (state.thrown) std::rethrow_exception(std::move(state.thrown));
  co_return std::move(state.results);
}

}  // namespace koord
