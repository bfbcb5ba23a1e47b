#pragma once

// A program of this host whose standard streams belong to a client: with pipes, or with a terminal.

#include <memory>
#include <string>
#include <vector>

#include "cluster/streaming/remote_command.h"
#include "cluster/streaming/stream_io.h"

namespace koord::cluster {

// argv[0] is a path. The program has a session of its own. When the client goes, the program gets
// SIGHUP, and its streams are closed. `io` must outlive the result.
Result<std::shared_ptr<StreamedCommand>> startCommandProcess(StreamIo& io,
                                                             std::vector<std::string> argv,
                                                             CommandStreams streams);

}  // namespace koord::cluster
