#pragma once

// `koordctl up`: a whole cluster on this machine in one process (API server, workload controllers,
// simulated nodes, this machine as a node) with koord-manager, koord-scheduler and koordlet as
// child processes. The one place where all parts are put together.

#include <string>

#include "cluster/up/options.h"

namespace koord::cluster {

// Runs until SIGINT or SIGTERM; the status for main(). `program` is the path of this executable.
int runUp(const UpOptions& options, const std::string& program);

}  // namespace koord::cluster
