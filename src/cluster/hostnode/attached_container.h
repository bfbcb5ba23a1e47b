#pragma once

// A running container of the process runtime as a client's command: the client's side of
// attach_socket.h.

#include <memory>

#include "base/fd.h"
#include "cluster/streaming/remote_command.h"
#include "cluster/streaming/stream_io.h"

namespace koord::cluster {

// `socket`: connected to the container's shim. `io` must outlive the result.
std::shared_ptr<StreamedCommand> attachToContainer(Executor& executor, StreamIo& io, Fd socket);

}  // namespace koord::cluster
