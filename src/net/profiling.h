#pragma once

// Profiles of the running program, under the paths of Go programs:
//   /debug/pprof/profile?seconds=30   CPU time, 100 samples per second of it, in the file format of
//                                     gperftools: `pprof PROGRAM FILE` shows it, as does
//                                     `go tool pprof`. One at a time; 1 to 300 seconds.
//   /debug/pprof/heap                 bytes that malloc has allocated and retains, as text
//   /debug/pprof/cmdline              the command line, separated by zero bytes
// Without a request nothing is measured and nothing costs.

#include "base/executor.h"
#include "net/router.h"

namespace koord::net {

// executor: that of the router's server.
void addProfiling(Router& router, Executor& executor);
// A handler for these paths only, for a separate server (--pprof-addr).
HttpServer::Handler profilingHandler(Executor& executor);

}  // namespace koord::net
