#pragma once

// The shims of a containerd: the processes between it and its containers. They outlive it on
// purpose, so that a restart does not end containers. A program that removes its containerd must
// end them.

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/executor.h"
#include "base/task.h"

namespace koord::cluster {

// The shims that report to the containerd at this socket. Reads /proc.
std::vector<pid_t> shimsOf(const std::string& socket);

// Returns when there are none. Kills those that remain after `grace`. Call only when all pods of
// that containerd are removed.
Task<void> awaitShims(Executor& executor, std::string socket, Duration grace);

}  // namespace koord::cluster
