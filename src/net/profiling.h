#pragma once

// Profiles of the running program, under the paths of Go programs:
//   /debug/pprof/profile?seconds=30   where CPU time goes, 100 samples per second of it, in the
//   file
//                                     format of gperftools: `pprof PROGRAM FILE` shows it, as does
//                                     `go tool pprof`. One at a time; 1 to 300 seconds.
//   /debug/pprof/heap                 what malloc has given out and holds back, as text
//   /debug/pprof/cmdline              the command line, separated by zero bytes
// Nothing is measured, and nothing costs, until somebody asks.

#include "base/executor.h"
#include "net/router.h"

namespace koord::net {

// The executor is that of the server which the router answers for.
void addProfiling(Router& router, Executor& executor);
// The same and nothing else, for a server of its own (--pprof-addr).
HttpServer::Handler profilingHandler(Executor& executor);

}  // namespace koord::net
