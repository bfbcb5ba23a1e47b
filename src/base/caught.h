#pragma once

// Catches exceptions of libraries and of failed allocations. Our code does not throw on purpose. A
// component that runs many independent pieces of work catches here what a piece throws and
// continues with the next.

#include <string>

#include "base/log.h"
#include "base/result.h"
#include "base/task.h"

namespace koord {

// The text of the current exception. Call it only in a catch block.
std::string thrownText();

// The task's result. An exception that leaves the task is logged and becomes an Internal error.
template <class T>
Task<Result<T>> caught(std::string what, Task<Result<T>> task) {
  std::string thrown;
  try {
    Result<T> result = co_await task;
    co_return result;
  } catch (...) {
    thrown = thrownText();
  }
  log::error("{}: unexpected exception: {}", what, thrown);
  co_return fail(ErrorCode::Internal, "unexpected exception: " + thrown);
}

}  // namespace koord
