#pragma once

// The shims of a containerd: the processes between it and its containers. They outlive it on purpose, so
// that a restart does not end containers; whoever takes a containerd away has to see them off.

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/executor.h"
#include "base/task.h"

namespace koord::cluster {

// The shims that report to the containerd at this socket. Reads /proc.
std::vector<pid_t> shimsOf(const std::string& socket);

// Returns when there are none. Those that are still there after `grace` are killed: for a containerd whose
// pods have all been removed, so that a shim which stays is one that nobody talks to any more.
Task<void> awaitShims(Executor& executor, std::string socket, Duration grace);

}  // namespace koord::cluster
