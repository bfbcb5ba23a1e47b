#pragma once

// The results of trace replays, for programs (JSON) and for users (a page with plots).

#include <string>
#include <vector>

#include "koordctl/trace/trace_replay.h"

namespace koord::koordctl {

// {"configurations": [{"name", "tasks", "placed", "preemptions", "waitSeconds": {"mean", "p50",
// "p99"}, "gpuAllocatedMean", "cpuAllocatedMean", "fragmentationMean", "points": [{"seconds",
// "gpuAllocated", "cpuAllocated", "fragmentation", "waiting", "preemptions"}]}]}
// Shares are 0 to 1.
std::string traceReportJson(const std::vector<ReplayReport>& reports);

// One self-contained page of HTML: a table, and plots in SVG of GPU allocation, fragmentation,
// waiting tasks and preemptions over time, with a line for each configuration.
std::string traceReportPage(const std::vector<ReplayReport>& reports);

}  // namespace koord::koordctl
