#pragma once

// guarded: calls a plugin. An exception ends the pod's attempt with a status that names the plugin;
// the process continues. Costs nothing without an exception. For exceptions of coroutines see
// status.h.

#include <type_traits>

#include "base/task.h"
#include "scheduler/engine/run_guarded.h"
#include "scheduler/framework/observer.h"
#include "scheduler/framework/status.h"

namespace koord::scheduler {

inline Task<Status> failedTask(Status status) {
  co_return status;
}

// The answer of a plugin that threw an exception.
template <class Answer>
Answer answerFromException(std::string why) {
  if constexpr (std::is_same_v<Answer, Status>) {
    return Status::error(std::move(why));
  } else if constexpr (std::is_same_v<Answer, Task<Status>>) {
    return failedTask(Status::error(std::move(why)));
  } else if constexpr (!std::is_void_v<Answer>) {
    Answer answer{};
    answer.status = Status::error(std::move(why));
    return answer;
  }
}

template <class Call>
auto guarded(Observer* observer, std::string_view plugin, std::string_view point, Call&& call)
    -> decltype(call()) {
  using Answer = decltype(call());
  const auto told = [&](const std::exception* thrown) {
    if (observer) observer->pluginThrew(plugin, point);
    return answerFromException<Answer>(
        describeException("plugin " + std::string(plugin), point, thrown));
  };
  try {
    return call();
  } catch (const std::exception& thrown) {
    return told(&thrown);
  } catch (...) {
    return told(nullptr);
  }
}

}  // namespace koord::scheduler
