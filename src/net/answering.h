#pragma once

// Where an exception of a request's handler ends: it is logged, the client is answered 500, and the server
// goes on with the next request.

#include <memory>
#include <string>

#include "base/task.h"
#include "net/http_server.h"

namespace koord::net {

// Runs the rest of a handler that is a coroutine. what: "POST /mutate-pod", for the log.
Task<void> answering(std::string what, std::shared_ptr<Responder> responder, Task<void> handler);

// Answers for a handler that has thrown; only within a catch block.
void answerThrown(std::string_view what, Responder& responder);

}  // namespace koord::net
