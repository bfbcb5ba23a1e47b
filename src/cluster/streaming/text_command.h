#pragma once

// An exec that runs nothing: the client gets a text and an exit code.

#include <memory>
#include <string>

#include "base/task.h"
#include "net/http_server.h"

namespace koord::cluster {

// Answers the request of pods/NAME/exec or attach.
Task<void> answerExecWithText(Executor* executor, net::ServerRequest request,
                              std::shared_ptr<net::Responder> responder, std::string text,
                              int exitCode);

}  // namespace koord::cluster
