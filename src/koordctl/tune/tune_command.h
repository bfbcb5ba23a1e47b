#pragma once

// "koordctl tune" and "koordctl tune record".

#include <string>
#include <vector>

#include "base/flags/command.h"
#include "koordctl/tune/record_usage.h"

namespace koord::koordctl {

struct TuneFlags {
  std::string kubeconfig;
  std::string snapshot;
  std::string usage;
  std::string patch;
  std::string output;
  std::int64_t nodes = 10;
  std::int64_t days = 1;
  std::int64_t seeds = 3;
  std::int64_t seed = 1;
  std::int64_t maxRuns = 60;
  double maxSlowdown = 5;
  double maxWasted = 1;
  std::vector<std::string> set;
  RecordUsageFlags record;
};

// `flags` must outlive the commands.
void addTuneCommands(flags::Commands& commands, TuneFlags& flags);

}  // namespace koord::koordctl
