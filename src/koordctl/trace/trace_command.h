#pragma once

// "koordctl simulate --trace FOLDER": replays a trace on the real scheduler with one or several
// configurations, side by side. Needs no cluster.

#include <string>
#include <vector>

#include "base/flags/command.h"

namespace koord::koordctl {

struct TraceFlags {
  std::string trace;                 // the folder; "" = no replay
  std::string nodes = "nodes.csv";   // in the folder
  std::string tasks = "tasks.csv";   // likewise
  std::vector<std::string> configs;  // NAME=FILE or FILE; empty: two profiles to compare
  std::string page;                  // where to write the page; "" = nowhere
  std::int64_t samples = 200;
  std::int64_t scale = 0;
  std::int64_t seed = 1;
  std::int64_t loadPercent = 100;
};

// Runs the replays. The report as JSON is appended to `out`. Returns the exit status; errors are
// appended to `errors`.
int runTrace(const TraceFlags& flags, std::string& out, std::string& errors);

// Prints the report and the errors. Returns the exit status.
int printTrace(const TraceFlags& flags);

// Adds the flags of a replay to "koordctl simulate", all but --config; `flags` must outlive it.
void addTraceFlags(flags::FlagSet& set, TraceFlags& flags);

}  // namespace koord::koordctl
