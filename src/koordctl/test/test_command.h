#pragma once

// The "test" subcommand of koordctl: its flags, and the embedded clusters that tests run on.
//
//   koordctl::TestFlags flags;
//   koordctl::addTestCommand(commands, flags, programPath);

#include <string>

#include "base/flags/command.h"
#include "scenario/command.h"

namespace koord::koordctl {

struct TestFlags {
  scenario::TestCommandOptions options;
  Duration applyTimeout{}, assertTimeout{}, cleanupTimeout{}, deleteTimeout{}, errorTimeout{},
      execTimeout{};  // 0 = default
  std::string logFile;
  std::uint64_t seed = 1;
};

// The flags must outlive the commands. `program` is the path of koordctl, which is started as
// "koordctl up" for tests that run processes.
void addTestCommand(flags::Commands& commands, TestFlags& flags, std::string program);

}  // namespace koord::koordctl
