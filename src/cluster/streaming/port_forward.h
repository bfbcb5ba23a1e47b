#pragma once

// The protocol of port-forward: for each connection of the client a stream of data and one for an
// error, over SPDY/3.1 or SPDY/3.1 within a WebSocket.

#include <memory>

#include "base/task.h"
#include "cluster/streaming/stream_io.h"
#include "net/http_server.h"

namespace koord::cluster {

// Answers the request, and serves until the client has gone. The streams lead to ports of loopback.
// pod: for messages. `io` must outlive the task.
Task<void> servePortForward(Executor* executor, StreamIo* io, net::ServerRequest request,
                            std::shared_ptr<net::Responder> responder, std::string pod);

}  // namespace koord::cluster
