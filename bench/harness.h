#pragma once

// What every benchmark program has in common: --filter REGEX chooses cases by name, and each result
// is one JSON object on a line of standard output:
//   {"benchmark": "...", "params": {...}, "metrics": {"name": number}}
// Nothing here judges; results are compared with those of another run.

#include <functional>
#include <string>
#include <vector>

#include "base/json.h"

namespace koord::bench {

struct Outcome {
  json::object params;
  json::object metrics;
};

struct Case {
  std::string name;
  std::function<std::vector<Outcome>()> run;  // an empty list: cannot run here
};

// The main() of a benchmark program.
int runCases(int argc, char** argv, const std::vector<Case>& cases);

double cpuSeconds();         // used by this process so far
double wallSeconds();        // of a steady clock
double residentMebibytes();  // of this process now

}  // namespace koord::bench
