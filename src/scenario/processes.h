#pragma once

// Runs the processes of script and command operations, off the executor's thread.

#include <map>
#include <string>
#include <vector>

#include "base/task.h"

namespace koord::scenario {

struct ProcessSpec {
  std::vector<std::string> arguments;              // the first is the program, looked up in PATH
  std::string folder;                              // working directory
  std::map<std::string, std::string> environment;  // added to this process's own
  Duration timeout{};
};

struct ProcessOutcome {
  std::string error = {};  // "" = exit status 0; else "exit status 3", "killed by signal 9", ...
  std::string output = {};
  std::string errorOutput = {};
};

// On real time only: the executor must be an EventLoop. At the timeout the process is killed with
// its process group.
Future<ProcessOutcome> runProcess(Executor& executor, ProcessSpec spec);

// Replaces "$NAME" from the given environment and this process's own; "$$" is a dollar sign.
std::string expandVariables(const std::string& text,
                            const std::map<std::string, std::string>& environment);

}  // namespace koord::scenario
