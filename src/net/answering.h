#pragma once

// Catches exceptions of request handlers: logs the exception, answers 500, and the server continues
// with the next request.

#include <memory>
#include <string>

#include "base/task.h"
#include "net/http_server.h"

namespace koord::net {

// Runs the rest of a handler that is a coroutine. what: "POST /mutate-pod", for the log.
Task<void> runHandler(std::string what, std::shared_ptr<Responder> responder, Task<void> handler);

// Answers 500 for a handler that has thrown. Call it within the catch block.
void answerException(std::string_view what, Responder& responder);

}  // namespace koord::net
