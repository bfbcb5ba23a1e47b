#pragma once

// "koordctl replay FILE": runs a recording of koord-scheduler again (src/scheduler/recording), and
// says whether it decides the same. Needs no cluster.

#include <string>

#include "base/flags/command.h"

namespace koord::koordctl {

struct ReplayOptions {
  std::string file;
  // "pod NAMESPACE/NAME" or "pod NAMESPACE/NAME ATTEMPT"; "" = to the end.
  std::string until;
  std::string config;      // another configuration to compare with; "" = none
  bool decisions = false;  // prints every decision
  bool json = false;       // the explanation of --until
};

// Exit statuses of the command.
inline constexpr int kReplaySame = 0;
inline constexpr int kReplayDiffers = 1;
inline constexpr int kReplayBroken = 2;  // the file is not a recording, or damaged

// Runs the recording and returns the exit status. Text for the user is appended to `out`, errors to
// `errors`.
int runReplay(const ReplayOptions& options, std::string& out, std::string& errors);

// `options` must outlive the commands.
void addReplayCommand(flags::Commands& commands, ReplayOptions& options);

}  // namespace koord::koordctl
