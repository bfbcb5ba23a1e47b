#pragma once

// A command or container at the streaming server of a CRI runtime: the client's side of SPDY/3.1
// and v4.channel.k8s.io, which containerd and CRI-O serve.

#include <memory>
#include <string>

#include "cluster/streaming/remote_command.h"
#include "cluster/streaming/stream_io.h"

namespace koord::cluster {

// `url`: as Exec or Attach of the CRI returns it, http://127.0.0.1:PORT/exec/TOKEN. The server must
// listen on a loopback address. Errors have the server's words. `io` must outlive the result.
Task<Result<std::shared_ptr<StreamedCommand>>> openCriCommand(Executor& executor, StreamIo& io,
                                                              std::string url,
                                                              CommandStreams streams);

// The exit code in the last message of a command, a Status; its message as an error if it has none.
Result<int> exitCodeOf(std::string_view status);

}  // namespace koord::cluster
