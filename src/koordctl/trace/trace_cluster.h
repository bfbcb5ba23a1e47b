#pragma once

// The nodes and tasks of a trace on the real scheduler (scheduled_cluster.h).

#include <memory>
#include <string>
#include <vector>

#include "koordctl/trace/scheduled_cluster.h"
#include "koordctl/trace/trace.h"

namespace koord::koordctl {

// Errors: those of the configuration, one per line. `seed` decides between equally good nodes.
Result<std::unique_ptr<ScheduledCluster>> traceCluster(
    scheduler::SchedulerConfiguration configuration, const std::vector<TraceNode>& nodes,
    std::uint64_t seed);

// Adds the task's pod under this name, which must be new.
void addTask(ScheduledCluster& cluster, const TraceTask& task, const std::string& name);

}  // namespace koord::koordctl
