#pragma once

// "koordctl simulate --colocation FOLDER": runs the co-location study (study.h) and writes
// report.json and report.html into the folder. Needs no cluster.

#include <cstdint>
#include <string>
#include <vector>

#include "base/flags/command.h"

namespace koord::koordctl {

struct ColocationFlags {
  std::string folder;  // "" = no study
  std::int64_t days = 1;
  std::int64_t nodes = 100;
  std::int64_t seeds = 5;
  std::int64_t seed = 1;
  std::vector<std::string> set;  // NAME=VALUE of parameters
  bool ablation = true;
  bool sweep = false;
};

// Runs the study. The tables are appended to `out`. Returns the exit status; errors are appended
// to `errors`. Writes the names of finished runs to standard error if `verbose`.
int runColocation(const ColocationFlags& flags, bool verbose, std::string& out,
                  std::string& errors);

// Prints the tables and the errors. Returns the exit status.
int printColocation(const ColocationFlags& flags);

// Adds the flags of the study to "koordctl simulate"; `flags` must outlive it.
void addColocationFlags(flags::FlagSet& set, ColocationFlags& flags);

}  // namespace koord::koordctl
