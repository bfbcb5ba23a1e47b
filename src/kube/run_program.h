#pragma once

// Runs a program without a shell and collects what it writes. Blocks; for a thread that may wait.

#include <atomic>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace koord::kube {

struct ProgramOutput {
  int status = 0;  // exit status; 128 + signal when one ended it
  std::string out;
  std::string err;
};

// Ends a running program from another thread.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;
  void raise();
  int fd() const { return fd_; }

 private:
  int fd_;
};

// argv[0] is looked up in PATH unless it has a slash. The variables are added to the environment.
// Standard input is empty. The program and its children are killed after `limit` (Timeout) and on
// the interrupt (Cancelled). NotFound: there is no such program.
Result<ProgramOutput> runProgram(
    const std::vector<std::string>& argv,
    const std::vector<std::pair<std::string, std::string>>& environment,
    std::chrono::milliseconds limit, const Interrupt& interrupt);

}  // namespace koord::kube
