#pragma once

// `koordctl up`: a whole cluster on this host in one process (API server, workload controllers,
// simulated nodes, the host node) with koord-manager, koord-scheduler and koordlet as child
// processes. All parts are composed here.

#include <string>

#include "cluster/up/options.h"

namespace koord::cluster {

// Runs until SIGINT or SIGTERM; returns the status for main(). `program` is the path of this
// executable.
int runUp(const UpOptions& options, const std::string& program);

}  // namespace koord::cluster
