#pragma once

// Where an exception of others' code ends. Nothing of ours throws on purpose, but libraries do, and memory
// may run out: who runs many pieces of work that have nothing to do with each other catches here what one of
// them throws, and goes on with the next.

#include <string>

#include "base/log.h"
#include "base/result.h"
#include "base/task.h"

namespace koord {

// What is being handled, in words; only within a catch block.
std::string thrownText();

// The task's result; an exception that leaves it is an Internal error, and logged.
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
