#pragma once

// What handlers of requests that are coroutines need. Their exceptions are logged and answered with
// 500, and the server continues with the next request. Their work ends when the client is gone.

#include <memory>
#include <string>
#include <utility>

#include "base/task.h"
#include "base/unless.h"
#include "net/http_server.h"

namespace koord::net {

// Runs the rest of a handler that is a coroutine. what: "POST /mutate-pod", for the log.
Task<void> runHandler(std::string what, std::shared_ptr<Responder> responder, Task<void> handler);

// Answers 500 for a handler that has thrown. Call it within the catch block.
void answerException(std::string_view what, Responder& responder);

// Ends when the client is gone, with Cancelled. Takes the responder's onClosed.
Task<Error> clientGone(Executor& executor, Responder& responder);

// What the task returns; it is destroyed if the client is gone before.
template <class T>
Task<Result<T>> whileConnected(Executor& executor, Responder& responder, Task<Result<T>> task) {
  return unless(executor, clientGone(executor, responder), std::move(task));
}

}  // namespace koord::net
