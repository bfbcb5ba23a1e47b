#pragma once

// Replays a trace on the real scheduler (trace_cluster.h) and measures the cluster at fixed times.
//
// Tasks arrive at the trace's times and run for their duration once they have a node. A cluster
// that was seldom full shows little of how well a configuration packs; `loadPercent` compresses the
// times between arrivals, not the durations. A preempted task loses its work and arrives again at
// once. Virtual time passes `scale` times slower than the trace's: one second of the scheduler (its
// delays between attempts are 1 to 10 s) stands for `scale` seconds of the trace, so that months
// take seconds.
//
// Fragmentation is the share of the free GPUs that a task of the trace cannot use, the mean over
// all tasks with GPUs. On nodes without enough free CPU, memory or GPUs, or of another model,
// nothing is usable; on the others the GPUs that have enough free.

#include <cstdint>
#include <string>
#include <vector>

#include "koordctl/trace/trace.h"
#include "scheduler/config/types.h"

namespace koord::koordctl {

struct ReplayPoint {
  std::int64_t time = 0;  // seconds of the trace
  // Shares of the cluster's capacity, 0 to 1.
  double gpuAllocated = 0;
  double cpuAllocated = 0;
  double fragmentation = 0;     // of the free GPUs
  std::size_t waiting = 0;      // tasks
  std::size_t preemptions = 0;  // so far
};

struct ReplayReport {
  std::string name;  // of the configuration
  std::vector<ReplayPoint> points;
  std::size_t tasks = 0;
  std::size_t placed = 0;  // tasks that had a node at least once
  std::size_t preemptions = 0;
  // Of tasks that got a node, in seconds of the trace.
  double waitMean = 0, waitMedian = 0, waitP99 = 0;
  double gpuMean = 0, cpuMean = 0, fragmentationMean = 0;  // over time
};

struct TraceOptions {
  std::size_t samples = 200;  // at least 2
  std::int64_t scale = 0;     // 0: so that the trace takes at most 100,000 s
  std::uint64_t seed = 1;
  std::int64_t loadPercent = 100;  // 200: tasks arrive twice as fast
};

// Errors: those of the configuration.
Result<ReplayReport> replayTrace(const std::string& name,
                                 const scheduler::SchedulerConfiguration& configuration,
                                 const std::vector<TraceNode>& nodes,
                                 const std::vector<TraceTask>& tasks, const TraceOptions& options);

}  // namespace koord::koordctl
